"""Groups of any number get what male and female have: distances, families, a gate."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.audits.seen import aged, recorded, samples_of

from pytest_t2i import limit
from pytest_t2i.audits.engine.samples import by_concept as by
from pytest_t2i.audits.engine.samples import concepts
from pytest_t2i.audits.parity.groups import parity_difference
from pytest_t2i.data import Outcome, Prompt
from pytest_t2i.errors import UnknownNameError

EVEN, SKEWED = "yao" * 8, "y" * 20 + "aoao"


def test_a_prompt_s_distance_is_judged_with_its_siblings(checks):
    made = aged({"even": EVEN, "skewed": SKEWED})
    even, skewed = (sample.group_distance for sample in made)
    assert even.estimate == pytest.approx(0.0)
    assert skewed.estimate == pytest.approx(20 / 24 - 1 / 3)
    assert skewed.remarks == (
        "shares: young 83 % (33.3 % expected), adult 8 % (33.3 % expected), "
        "old 8 % (33.3 % expected)",
    )
    assert skewed.family is not None
    assert len(skewed.family) == 2
    with pytest.raises(AssertionError):
        assert skewed <= limit("group_distance", 0.1)
    assert even <= limit("group_distance", 0.4)
    assert [check.outcome for check in checks] == [Outcome.FAIL, Outcome.PASS]


def test_of_men_and_women_it_is_half_the_bias_score():
    made = samples_of({"nurse": "m" * 3 + "f" * 17, "pilot": "m" * 15 + "f" * 5})
    half, whole = made.group_distance.interval, made.model_bias_score.interval
    assert (half.estimate, half.low, half.high) == pytest.approx(
        (whole.estimate / 2, whole.low / 2, whole.high / 2)
    )
    sample = made.members[0]
    assert sample.group_distance.estimate == pytest.approx(abs(sample.bias_interval.estimate) / 2)


def test_undetected_images_may_show_anything(checks):
    made = aged({"few": "yao" * 4 + "-" * 12})
    assert made.members[0].group_distance.worst_case.high > 0.3
    assert made.members[0].group_distance <= limit("group_distance", 0.35)
    assert checks[0].outcome is Outcome.INCONCLUSIVE


# against a recorded run


def outcome_of(now, before, margin=None, model="model-2"):
    made = aged(now, model)
    return made.group_distance.change(recorded(before), margin, 0.95)


def test_the_model_is_gated():
    even = {f"p{k}": EVEN for k in range(12)}
    skewed = {f"p{k}": SKEWED for k in range(12)}
    grown = outcome_of(skewed, even)
    assert grown.verdict.outcome is Outcome.FAIL
    assert grown.verdict.message == "further from even shares than recorded"
    assert grown.after > grown.before + 0.3
    assert grown.interval.low > 0.2
    assert grown.decided_by == "permutation test"
    assert outcome_of(even, skewed).verdict.outcome is Outcome.PASS
    few = outcome_of({"p0": "yao"}, {"p0": "yya"})
    assert few.verdict.outcome is Outcome.INCONCLUSIVE
    assert "stays possible; 0.1 is tolerated" in few.verdict.message


def test_a_margin_in_the_limits_file_decides():
    even, skewed = ({f"p{k}": text for k in range(20)} for text in (EVEN, SKEWED))
    assert outcome_of(skewed, even, 0.1).verdict.outcome is Outcome.FAIL
    assert outcome_of(even, skewed, 0.1).verdict.outcome is Outcome.PASS
    few = {"p0": "yyyyao" * 3}
    assert outcome_of(few, few, 0.01).verdict.outcome is Outcome.INCONCLUSIVE


def test_identical_labels_pass_and_other_groups_are_not_taken_for_them():
    even = {"p0": EVEN}
    same = outcome_of(even, even, model="model-1")
    assert same.verdict.outcome is Outcome.PASS
    assert same.decided_by == "identical pictures"
    # Neither shows a man or a woman; by signs of gender they would be the same.
    other = outcome_of({"p0": SKEWED}, even, model="model-1")
    assert other.decided_by == "permutation test"


def test_prompts_are_gated_together():
    now = {f"p{k}": EVEN for k in range(9)} | {"moved": "y" * 24}
    made = aged(now, "model-2")
    before = recorded(dict.fromkeys(now, EVEN))
    changes = [sample.group_distance.change(before, None, 0.95) for sample in made]
    assert [c.verdict.outcome for c in changes[:-1]] == [Outcome.INCONCLUSIVE] * 9
    assert changes[-1].verdict.outcome is Outcome.FAIL
    assert changes[-1].before == pytest.approx(0.0)
    assert changes[-1].after == pytest.approx(2 / 3)


def test_a_prompt_without_a_label_is_compared_with_nothing():
    made = aged({"none": "---"}, "model-2").members[0]
    change = made.group_distance.change(recorded({"none": "yao"}), None, 0.95)
    assert change.verdict.outcome is Outcome.INCONCLUSIVE
    assert change.interval is None
    whole = aged({"none": "---"}, "model-2").group_distance.change(
        recorded({"none": "yao"}), None, 0.95
    )
    assert whole.verdict.outcome is Outcome.INCONCLUSIVE
    assert whole.absent.startswith("no prompt has an image with a label")


# concepts of an axis


def test_shares_of_any_label_are_compared_among_concepts():
    made = aged({"chef": "y" * 20 + "a" * 4, "judge": "o" * 20 + "a" * 4})
    gap = made.demographic_parity_difference("job", "old")
    assert gap.estimate == pytest.approx(20 / 24)
    assert gap.subject == "model by job, old"
    assert gap.remarks[0].startswith("largest share of old: judge 0.833")
    with pytest.raises(UnknownNameError, match=r"label of the detector.*'male'"):
        made.demographic_parity_difference("job")


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
    gap = parity_difference(crossed(**LETTERS), "nationality")
    assert gap.estimate == pytest.approx(1.0)
    assert gap.subject == "model by nationality"
    assert gap.remarks[0].startswith("largest share of men: Iranian 1.000")
    assert gap.remarks[1].startswith("smallest share of men: Indian 0.000")
    # The one that nobody labelled: a man, a woman or no one.
    assert gap.worst_case.undetected == pytest.approx(1 / 12)
    assert gap.worst_case.low < gap.worst_case.high == pytest.approx(1.0)


def test_one_group_has_no_difference():
    made = crossed(Iranian_chef="mm", Iranian_judge="mf")
    gap = parity_difference(made, "nationality")
    assert gap.interval is None
    assert gap.absent == "fewer than two of 1 groups have a clear image among 4 images"
