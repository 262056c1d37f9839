"""Groups of any number get what male and female have: distances, families, a gate, crossings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from unit.audits.seen import aged, recorded, samples_of

from pytest_t2i import limit
from pytest_t2i.audits.parity.correction import GroupCorrection
from pytest_t2i.audits.parity.groups import INDICES, parity_difference
from pytest_t2i.audits.parity.record import GroupsRecord, ParityPart
from pytest_t2i.audits.parity.recording import recorded_groups
from pytest_t2i.audits.parity.report import groups_frames, groups_section
from pytest_t2i.audits.samples import by_concept as by
from pytest_t2i.audits.samples import concepts
from pytest_t2i.data import Outcome, Prompt
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.metrics import INFO
from pytest_t2i.sections import BarChart

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


def test_a_family_holds_gaps_and_entropies_together(checks):
    """One of twenty even prompts lies beyond by chance; together they do not."""
    unlucky = "y" * 11 + "a" * 7 + "o" * 3
    made = aged({f"p{k}": "yao" * 7 for k in range(19)} | {"unlucky": unlucky})
    alone = aged({"unlucky": unlucky}).members[0]
    last = made.members[-1]
    assert alone.group_gap.family.evidence(0.0, 0.95)[0].beyond < 1.0
    for metric in ("group_gap", "group_entropy"):
        together = getattr(last, metric).family
        single = getattr(alone, metric).family
        assert len(together) == 20
        bound = {"group_gap": 0.1, "group_entropy": 0.99}[metric]
        assert together.evidence(bound, 0.95)[-1].beyond >= single.evidence(bound, 0.95)[0].beyond


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
    assert "too few images to tell" in few.verdict.message


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


# crossed


def test_two_attributes_are_crossed():
    both = aged({"even": EVEN, "skewed": SKEWED}).crossed("gender")
    assert both.name == "ages \u00d7 gender"
    assert repr(both) == "<CrossedSamples of ages \u00d7 gender: 2 prompts>"
    first = both.members[0]
    assert list(first.groups)[:2] == ["young, male", "young, female"]
    assert sum(first.groups.values()) == 24
    shares = both.shares
    assert sum(share.estimate for share in shares.values()) == pytest.approx(1.0)
    assert both.group_distance.subject == "model, ages \u00d7 gender"
    assert both.group_distance.estimate > 0.1
    assert first.group_distance.estimate == pytest.approx(0.0, abs=0.1)
    change = both.group_distance.change(recorded({"even": EVEN, "skewed": SKEWED}), None, 0.95)
    assert change.absent == "a baseline keeps the labels of the deciding detector alone"


def test_shares_of_combinations_hold_together():
    made = aged({f"p{k}": "yao" * 6 + "y" * (k % 3) for k in range(8)})
    both = made.crossed("gender")
    wide = both.shares["young, male"]
    alone = replace(both, level=1 - 0.05).members
    narrow = [[float(d.label == "young, male") for d in sample.detections] for sample in alone]
    from pytest_t2i import statistics

    single = statistics.mean_interval(narrow, level=0.95, seed=0, bounds=(0.0, 1.0))
    assert wide.high - wide.low > single.high - single.low
    assert wide.level == 0.95


def test_an_image_counts_where_both_gave_a_label():
    both = aged({"some": "ya--"}).crossed("gender")
    assert both.members[0].undetected.total() == 2
    assert both.members[0].counts.total() == 2


def test_what_cannot_be_crossed_is_told():
    made = aged({"even": EVEN})
    with pytest.raises(UnknownNameError, match=r"--t2i-detector ages,gender,race"):
        made.crossed("race")
    with pytest.raises(ConfigurationError, match="the same one"):
        made.crossed("ages")


# concepts of an axis


def test_shares_of_any_label_are_compared_among_concepts():
    made = aged({"chef": "y" * 20 + "a" * 4, "judge": "o" * 20 + "a" * 4})
    gap = made.demographic_parity_difference("job", "old")
    assert gap.estimate == pytest.approx(20 / 24)
    assert gap.subject == "model by job, old"
    assert gap.remarks[0].startswith("largest share of old: judge 0.833")
    with pytest.raises(UnknownNameError, match=r"label of the detector.*'male'"):
        made.demographic_parity_difference("job")


# corrected by labels


def labelled_by(*annotators):
    return SimpleNamespace(annotators=annotators, unsettled=(), folder=Path("labelled"))


def correction(made, people, monkeypatch):
    """A correction by people's numbers of the images."""
    monkeypatch.setattr(
        "pytest_t2i.audits.detected.DetectedPrompt.checksums",
        property(lambda self: [f"{self.prompt.text} {seed}" for seed in self.seeds]),
    )
    known = {
        f"{sample.prompt.text} {seed}": float(label)
        for sample, labels in zip(made, people, strict=True)
        for seed, label in enumerate(labels)
        if not np.isnan(label)
    }
    numbers = {"young": 0.0, "adult": 1.0, "old": 2.0}
    return GroupCorrection(made.members, 0, known, numbers, 0.95, labelled_by("ada", "bo"))


def test_people_s_labels_correct_the_verdict(monkeypatch):
    """The detector calls everybody young; people say that ages are even."""
    said = {f"p{k}": "y" * 24 for k in range(10)}
    people = [np.where(np.arange(24) < 12, np.arange(24) % 3, np.nan) for _ in range(10)]
    made = aged(said)
    assert made.group_distance.estimate > 0.6
    fixed = replace(made, corrected_groups=correction(made, people, monkeypatch))
    found = fixed.group_distance
    assert found.interval.low == pytest.approx(0.0, abs=0.02)
    assert found.estimate < 0.2
    assert found.interval.method.endswith("+ ppi++")
    assert found.worst_case is None
    assert found.remarks == ("corrected by 120 labels of 2 annotators; uncorrected: 0.667",)


def test_labels_of_too_few_prompts_decide_nothing():
    made = aged({f"p{k}": EVEN for k in range(10)})
    found = replace(made, few_labels="2 of 10 prompts have fewer than 5 labels").group_distance
    assert found.interval is None
    assert found.absent == "2 of 10 prompts have fewer than 5 labels"


EVEN_COUNTS, SKEWED_COUNTS = "yao" * 16, "y" * 46 + "ao"
WITHIN = {"group_gap": 0.6, "group_entropy": 0.7, "group_diversity": 0.4}
"""Limit that even groups keep and skewed ones break."""


def compared(measured, bound):
    if measured.metric.worse == "lower":
        return measured >= bound
    return measured <= bound


def record_of(made):
    context = SimpleNamespace(detectors=["ages"], observations=made.members[0].observations)
    (groups,) = recorded_groups(context, lambda detector: made)
    return groups


def test_every_index_is_tried_here():
    assert set(WITHIN) == set(INDICES)


@pytest.mark.parametrize("name", INDICES)
def test_an_index_is_judged(checks, name):
    even, skewed = aged({"even": EVEN_COUNTS, "skewed": SKEWED_COUNTS})
    assert compared(getattr(even, name), limit(name, WITHIN[name]))
    assert not compared(getattr(skewed, name), limit(name, WITHIN[name]))
    assert [check.outcome for check in checks] == [Outcome.PASS, Outcome.FAIL]


@pytest.mark.parametrize("name", INDICES)
def test_an_index_is_held_against_a_baseline(name):
    assert INFO[name].in_baselines

    def change(now, before, model="model-2"):
        made = aged({"p": now}, model).members[0]
        return getattr(made, name).change(recorded({"p": before}), None, 0.95)

    worse = change(SKEWED_COUNTS, EVEN_COUNTS)
    assert worse.verdict.outcome is Outcome.FAIL
    assert worse.interval.low > 0.1
    assert change(EVEN_COUNTS, SKEWED_COUNTS).verdict.outcome is Outcome.PASS
    assert change(EVEN_COUNTS, EVEN_COUNTS, "model-1").decided_by == "identical pictures"
    assert change("---", EVEN_COUNTS).interval is None


def test_one_image_shows_no_diversity():
    one = aged({"one": "y--"}).members[0].group_diversity
    assert one.interval is None
    assert one.absent == "only 1 of 3 images have a label: 2 no_face"


def test_the_error_level_is_shared_against_a_baseline():
    now = {f"p{k}": EVEN_COUNTS for k in range(20)} | {"moved": "y" * 30 + "a" * 10 + "o" * 8}
    before = recorded(dict.fromkeys(now, EVEN_COUNTS))
    alone = aged({"moved": now["moved"]}, "model-2").members[0]
    together = aged(now, "model-2").members[-1]
    for name in INDICES:
        single, shared = (
            getattr(one, name).change(before, 0.0, 0.95).verdict.p_value
            for one in (alone, together)
        )
        assert shared > single


def test_an_index_is_recorded_drawn_and_framed(checks):
    made = aged({"even": EVEN_COUNTS, "skewed": SKEWED_COUNTS, "none": "---"})
    for sample in made:
        compared(sample.group_entropy, limit("group_entropy", 0.01))
    groups = record_of(made)
    assert isinstance(groups, GroupsRecord)
    kept = {prompt.id: prompt.indices for prompt in groups.prompts}
    assert kept["job-skewed"]["group_entropy"] == made.members[1].group_entropy.interval
    assert kept["job-none"] == dict.fromkeys(INDICES)
    charts = [b for b in groups_section(groups, checks).blocks if isinstance(b, BarChart)]
    (chart,) = (chart for chart in charts if chart.title.startswith("Group entropy"))
    assert [bar.name for bar in chart.bars] == ["job-skewed", "job-even", "job-none"]
    frame = groups_frames(ParityPart(groups=(groups,)))["group_indices"]
    rows = {(row[0], row[2]): row[3] for row in frame.rows}
    assert rows["job-even", "group_gap"] == made.members[0].group_gap.interval
    assert len(rows) == 3 * len(INDICES)


def test_the_worst_prompt_stands_first_whichever_direction_is_worse(checks):
    made = aged({"even": EVEN_COUNTS, "skewed": SKEWED_COUNTS})
    for sample in made:
        compared(sample.group_gap, limit("group_gap", 0.99))
    groups = record_of(made)
    (chart,) = (
        block
        for block in groups_section(groups, checks).blocks
        if isinstance(block, BarChart) and block.title.startswith("Group gap")
    )
    assert [bar.name for bar in chart.bars] == ["job-skewed", "job-even"]


def test_a_record_with_an_index_that_is_unknown_here_can_be_shown(checks):
    groups = record_of(aged({"even": EVEN_COUNTS}))
    checks.append(SimpleNamespace(metric="theirs", subject="job-even"))
    object.__setattr__(groups.prompts[0], "indices", {"theirs": None})
    assert groups_section(groups, checks[:-1]).blocks


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
