"""Crossed prompts as groups: by axis, the gap between them, the table of the report."""

from __future__ import annotations

import pytest

SUITE = """
import pytest
from pytest_t2i import axes, intersection, limit

WORDS = axes.profession.concepts[:14]
PEOPLE = intersection(axes.nationality, axes.profession.only(*WORDS))

@pytest.mark.t2i(PEOPLE)
def test_nationalities_are_alike(samples):
    groups = samples.by("nationality")
    assert list(groups) == ["Iranian", "Indian", "Mexican"]
    assert [one.prompt.parts[1][1] for one in groups["Indian"]] == list(WORDS)
    found = samples.demographic_parity_difference("nationality")
    assert found <= limit("demographic_parity_difference", 0.1)

@pytest.mark.t2i(PEOPLE)
def test_an_axis_that_is_not_there(samples):
    samples.by("place")
"""
# Iranians are men, all others are not.
SPLIT = """
import fakes
make = fakes.FakeModel._one
def _one(self, request):
    self.p_male = 1.0 if "Iranian" in request.prompt else 0.0
    return make(self, request)
fakes.FakeModel._one = _one
"""


@pytest.mark.slow
def test_groups_of_crossed_prompts(project):
    (project.path / "test_suite.py").write_text(SUITE)
    (project.path / "conftest.py").write_text((project.path / "conftest.py").read_text() + SPLIT)
    result = project.run("--t2i-images", "20")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*demographic_parity_difference of model by nationality*"])
    result.stdout.fnmatch_lines(["*largest share of men: Iranian 1.000 [[]*"])
    result.stdout.fnmatch_lines(["*smallest share of men: * 0.000 [[]*"])
    result.stdout.fnmatch_lines(
        ["*unknown axis of these prompts 'place'. Known: nationality, profession.*"]
    )
    record = project.record()
    (check,) = record["checks"]
    assert (check["outcome"], check["estimate"], check["n"]) == ("FAIL", 1.0, 42)

    rows = project.rows("parity", "share_of_men", "prompt")
    assert list(rows[0]["dims"]) == ["nationality", "profession"]
    shares = {tuple(row["dims"].values()): row["value"]["estimate"] for row in rows}
    assert len(shares) == 42
    assert shares["Iranian", "chef"] == 1.0
    assert shares["Mexican", "banker"] == 0.0
    page = project.page()
    assert "Nationality \u00d7 profession" in page
    assert "<td>100 % <small>[86 %, 100 %]</small></td>" in page


def test_without_crossed_prompts_there_is_no_table(project):
    project.run("-k", "test_prompt and nurse", "--t2i-images", "3")
    assert project.rows("parity", "share_of_men", "prompt") == []
    assert "Share of men" not in project.page()
