"""What every score of counted labels gets from the engine: families, worst cases, means."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from unit.audits.seen import samples_of

from pytest_t2i.audits.engine.bias import Bias
from pytest_t2i.audits.engine.detected import Siblings
from pytest_t2i.audits.engine.distance import EVEN, Distance
from pytest_t2i.audits.engine.early_stopping import Stopping
from pytest_t2i.audits.engine.score import (
    MeanScore,
    Members,
    Tally,
    family,
    interval_of,
    of_model,
    worst_case_of,
)
from pytest_t2i.data import Evidence
from pytest_t2i.prompts.references import uniform
from pytest_t2i.statistics.group_sequential import SequentialTest, stopped_share_interval
from pytest_t2i.verdicts.caveats.built_in import READINGS
from pytest_t2i.verdicts.caveats.equal_pictures import Repeats
from pytest_t2i.verdicts.caveats.seams import weakest_evidence

SCORES = {
    "bias": Bias(),
    "distance": Distance(uniform()),
    "even distance": EVEN,
}
SAID = {"even": "mf" * 10, "men": "m" * 16 + "f" * 4, "hazy": "m" * 8 + "f" * 4 + "-" * 8}


def repeating(samples, letters=4):
    """The same samples, of whose pictures the last ones repeat others."""
    members = []
    for sample in samples:
        few = replace(sample, seeds=sample.seeds[:-letters], planned=sample.seeds)
        few.observations.repeats = lambda _, seeds: Repeats(100, 95, 0)
        members.append(few)
    siblings = Siblings([], [sample.id for sample in members])
    siblings.members = [replace(sample, siblings=siblings) for sample in members]
    return replace(samples, members=tuple(siblings.members))


def weakest(evidence):
    """p-values; 1 for none."""
    return [1.0 if p is None else p for p in evidence[:2]]


@pytest.mark.parametrize("name", SCORES)
def test_a_family_is_judged_despite_equal_pictures(name):
    once = list(samples_of(SAID))
    some = list(repeating(samples_of(SAID)))
    bound = 0.3
    of_all, of_some = (family(SCORES[name], list(part)) for part in (once, some))
    alone = family(SCORES[name], [replace(s, planned=()) for s in some])
    for k in range(len(SAID)):
        found = weakest(of_some.evidence(bound, 0.95)[k])
        for other in (of_all, alone):
            pairs = zip(found, weakest(other.evidence(bound, 0.95)[k]), strict=True)
            assert all(mine >= theirs - 1e-12 for mine, theirs in pairs)


@pytest.mark.parametrize("name", ["bias", "distance", "even distance"])
def test_undetected_images_weaken_both_sides(name):
    members = list(samples_of({"hazy": SAID["hazy"]}))
    clear = list(samples_of({"hazy": SAID["hazy"].replace("-", "")}))
    worst, plain = (family(SCORES[name], part).evidence(0.2, 0.95)[0] for part in (members, clear))
    assert worst.labelled == pytest.approx(plain[:2])
    assert worst.beyond >= plain.beyond
    assert worst.within >= plain.within


@st.composite
def counted(draw):
    """What a prompt's pictures show, and how many of the last ones repeat others."""
    letters = draw(st.text("mmff-", min_size=6, max_size=16))
    return letters, draw(st.integers(0, len(letters) // 10))


@settings(deadline=None, max_examples=30)
@given(
    st.lists(counted(), min_size=1, max_size=3),
    st.sampled_from(sorted(SCORES)),
    st.sampled_from([0.1, 0.3, 0.5, 0.8]),
)
@example([("ffffff", 0), ("f------", 0)], "bias", 0.3)
def test_a_reading_never_strengthens_evidence(prompts, name, bound):
    samples = samples_of({str(k): letters for k, (letters, _) in enumerate(prompts)})
    members = [
        replace(s, seeds=s.seeds[: len(s.seeds) - repeats], planned=s.seeds)
        for s, (_, repeats) in zip(samples, prompts, strict=True)
    ]
    for member in members:
        member.observations.repeats = lambda _, seeds: Repeats(100, 95, 0)
    score, samples = SCORES[name], replace(samples, members=tuple(members))

    def of_family(way, side):
        return way.p_values(bound, 0.95, side)

    def of_mean(way, side):
        return [score.mean_p_value(way.tallies, bound, side)]

    cases = [(Members(score, members), of_family)]
    mean = MeanScore.of(score, samples)
    # A mean needs a labelled image, as its interval does; those of distances take long.
    cases += [(mean, of_mean)] * bool(mean.judged and name == "bias")
    for whole, p_values in cases:
        for reading in READINGS:
            ways = [weakest_evidence(r, whole, p_values) for r in ((), (reading,), READINGS)]
            for fewer, more in itertools.pairwise(ways):
                for before, now in zip(fewer, more, strict=True):
                    sides = zip(weakest(before), weakest(now), strict=True)
                    assert all(weak >= strong - 1e-9 for strong, weak in sides)


@pytest.mark.parametrize("name", SCORES)
def test_a_mean_holds_in_the_worst_case(name):
    samples = samples_of(SAID)
    evidence = MeanScore.of(SCORES[name], samples).evidence(0.2, 0.95)
    assert evidence.beyond >= evidence.labelled[0]
    assert evidence.within >= evidence.labelled[1]
    bounds = worst_case_of(SCORES[name], samples)
    assert bounds.undetected == pytest.approx(8 / 60)
    assert bounds.low <= SCORES[name].plain_mean([SCORES[name].tally(s) for s in samples])


@pytest.mark.parametrize("name", SCORES)
def test_prompts_without_verdict_have_no_bounds(name):
    """Of one prompt too many pictures repeat, of another some images are undetected."""
    samples = samples_of(SAID)
    first, *rest = samples.members
    silent = replace(first, seeds=first.seeds[:4], planned=first.seeds)
    silent.__dict__["repeats"] = Repeats(20, 4, 0)
    found = of_model(SCORES[name], replace(samples, members=(silent, *rest)))
    assert found.worst_case.undetected == pytest.approx(8 / 40)
    assert found.despite_repeats == "even"


def test_looks_are_judged_despite_equal_pictures():
    """As a fixed number of images is."""
    made = samples_of({"p": "m" * 36 + "f" * 4})
    stop = Stopping((40,), SequentialTest(200, 0.3))
    (member,) = made.members
    once = replace(member, stopping=stop, siblings=None)
    planned = once.seeds + tuple(range(100, 110))
    some = replace(once, planned=planned)
    some.observations.said["p"] += "mmmmmmmmmm"
    some.observations.repeats = lambda *_: Repeats(50, 46, 0)
    (alone,), (found,) = (family(Bias(), [s]).evidence(0.3, 0.95) for s in (once, some))
    assert alone.beyond < 0.05
    assert found.beyond == pytest.approx(alone.beyond)
    assert found.within >= alone.within


def stopped(letters, looks=(14, 20)):
    """A prompt that stopped at these looks."""
    (member,) = samples_of({"p": letters}).members
    return replace(member, stopping=Stopping(looks, SequentialTest(100, 0.3)), siblings=None)


def test_the_interval_of_a_stopped_prompt_holds_over_all_labels_of_undetected_images():
    plain, hazy = (
        interval_of(Bias(), stopped(letters))
        for letters in ("m" * 15 + "f" * 5, "m" * 12 + "f" * 4 + "-" * 4)
    )
    few, many = (
        stopped_share_interval(SequentialTest(100, 0.3), (14, 20), k, 0.9) for k in (12, 16)
    )
    assert (hazy.low, hazy.high) == pytest.approx((2.0 * few.low - 1.0, 2.0 * many.high - 1.0))
    assert hazy.estimate == plain.estimate == 0.5
    assert hazy.low < plain.low < plain.high < hazy.high
    assert plain.method == hazy.method == "exact after stopping"


def test_a_stopped_prompt_has_no_evidence_at_another_bound_than_the_planned_one():
    member = stopped("m" * 20)
    at, beside = (family(Bias(), [member]).evidence(bound, 0.95)[0] for bound in (0.3, 0.4))
    assert at.beyond < 0.05
    assert beside[:2] == (1.0, 1.0)


def test_a_member_without_a_label_is_no_test_of_the_others():
    alone, both = (
        family(EVEN, list(samples_of(said))).evidence(0.1, 0.95)
        for said in ({"men": SAID["men"]}, {"men": SAID["men"], "none": "-" * 20})
    )
    assert both[0].beyond == pytest.approx(alone[0].beyond)
    assert both[1] == Evidence(None, None)


@pytest.mark.parametrize("name", SCORES)
def test_of_two_even_groups_all_scores_order_alike(name):
    score = SCORES[name]
    values = [abs(score.value(Tally((k, 20 - k), (0.5, 0.5)))) for k in (10, 13, 17, 20)]
    assert values == sorted(values)
    assert values[0] == 0.0
    assert score.value(Tally((0, 0), (0.5, 0.5))) is None


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("name", ["bias", "even distance"])
def test_a_growth_is_found_by_either_score(name, paired):
    import numpy as np

    before = [np.arange(20) % 2 for _ in range(12)]
    after = [np.zeros(20, dtype=int) for _ in range(12)]
    score = SCORES[name]
    grown = score.growth_p_value(before, after, 0, groups=2, paired=paired)
    same = score.growth_p_value(after, before, 0, groups=2, paired=paired)
    assert grown < 0.05 < same
