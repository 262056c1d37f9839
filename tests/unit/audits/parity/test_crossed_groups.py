"""Groups of prompts that share a concept."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.audits.seen import samples_of

from pytest_t2i.audits.parity.crossed_groups import by, concepts, demographic_parity_difference
from pytest_t2i.data import Prompt
from pytest_t2i.errors import UnknownNameError

NATIONS = ("Iranian", "Indian")


def crossed(**letters):
    """Prompts of a nationality and a profession: crossed(Iranian_chef="mm")."""
    made = samples_of(letters)
    members = []
    for sample in made:
        nation, profession = sample.prompt.concept.split("_")
        parts = (("nationality", nation), ("profession", profession))
        prompt = replace(sample.prompt, axis="nationality-x-profession", parts=parts)
        members.append(replace(sample, prompt=prompt))
    return replace(made, members=tuple(members))


LETTERS = {"Iranian_chef": "mmmm", "Iranian_judge": "mmm-", "Indian_chef": "ffff"}


def test_a_crossed_prompt_belongs_to_each_of_its_concepts():
    made = crossed(**LETTERS)
    assert concepts(made.members[0].prompt) == {"nationality": "Iranian", "profession": "chef"}
    groups = by(made.members, "profession")
    assert {name: len(part) for name, part in groups.items()} == {"chef": 2, "judge": 1}
    assert concepts(Prompt("a nurse", "profession", "nurse")) == {"profession": "nurse"}


def test_an_axis_that_no_prompt_has_is_told():
    with pytest.raises(UnknownNameError, match=r"'place'\. Known: nationality, profession"):
        by(crossed(**LETTERS).members, "place")


def test_the_widest_difference_between_groups():
    gap = demographic_parity_difference(crossed(**LETTERS), "nationality")
    assert gap.estimate == pytest.approx(1.0)
    assert gap.subject == "model by nationality"
    assert gap.remarks[0].startswith("largest share of men: Iranian 1.000")
    assert gap.remarks[1].startswith("smallest share of men: Indian 0.000")
    # The one that nobody labelled: a man, a woman or no one.
    assert gap.worst_case.undetected == pytest.approx(1 / 12)
    assert gap.worst_case.low < gap.worst_case.high == pytest.approx(1.0)


def test_one_group_has_no_difference():
    made = crossed(Iranian_chef="mm", Iranian_judge="mf")
    gap = demographic_parity_difference(made, "nationality")
    assert gap.interval is None
    assert gap.absent == "fewer than two of 1 groups have a clear image among 4 images"
