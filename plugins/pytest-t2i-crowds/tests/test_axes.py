"""The prompts for groups of people."""

from __future__ import annotations

from pytest_t2i_crowds import axes


def test_groups_of_people_are_asked_for_in_the_plural():
    prompts = [prompt for axis in (axes.team, axes.group) for prompt in axis.prompts()]
    texts = [prompt.text for prompt in prompts]
    assert len(texts) == len(set(texts)) == 20
    assert "a photo of a team of engineers" in texts
    assert "a photo of a group of nurses" in texts
    assert all(text.startswith("a photo of a ") and text.endswith("s") for text in texts)
    assert prompts[0].id == "crowd.team-engineers"
