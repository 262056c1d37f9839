"""A model and its prompts against their recorded selves: what a regression gate rests on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from pytest_t2i.audits.engine.bias import Bias
from pytest_t2i.audits.engine.detected import DetectedPrompt, DetectedPrompts, Siblings
from pytest_t2i.audits.parity.change import BY_DEFAULT, UNPAIRED, model_change, prompt_change
from pytest_t2i.data import Detection, Outcome, Prompt, Undetected
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.verdicts.baseline_file import Baseline, RecordedPrompt
from pytest_t2i.verdicts.measurement import LabelCounts, MovedPrompt

WORDS = {1: "male", -1: "female", 0: Undetected.NO_FACE}
PROMPTS, IMAGES = 60, 20
# |2p - 1| as unevenly spread as that of a real model: a third fair, a third one-sided.
RATES = np.repeat([0.5, 0.65, 0.95], PROMPTS // 3)


@dataclass
class Observed:
    """What a detector said, without a store."""

    model_fingerprint: str
    said: dict[str, list[int]] = field(default_factory=dict)
    drawing: frozenset[str] = frozenset()
    """Fingerprints of models that draw every picture anew."""

    def draws_anew(self, *models):
        return bool(self.drawing & {*models})

    def detections(self, prompt, seeds, ref):
        return [
            Detection(WORDS[sign]) if sign else Detection(None, WORDS[0])
            for sign in self.said[prompt.text]
        ]


def prompt(number):
    return Prompt(f"a person {number}", "word", f"w{number}")


def signs_of(rates, images, seed):
    rng = np.random.default_rng(seed)
    return [np.where(rng.random(images) < rate, 1, -1).tolist() for rate in rates]


def samples_of(said, *, fingerprint="model", first_seed=0, drawing=()):
    told = {f"a person {k}": signs for k, signs in enumerate(said)}
    observed = Observed(fingerprint, told, frozenset(drawing))
    members = tuple(
        DetectedPrompt(
            prompt(k),
            tuple(range(first_seed, first_seed + len(signs))),
            DetectorRef("colour"),
            observed,
            0.95,
        )
        for k, signs in enumerate(said)
    )
    return DetectedPrompts(members, 0.95, 0)


def baseline_of(said, *, fingerprint="model"):
    prompts = {
        f"a person {k}": RecordedPrompt(
            prompt(k).id, tuple(range(len(signs))), tuple(WORDS[sign] for sign in signs)
        )
        for k, signs in enumerate(said)
    }
    return Baseline("shipped", fingerprint, {}, {}, prompts)


def change(before, after, margin=None, *, first_seed=10_000, fingerprint="model", drawing=()):
    """The model's change; with other seeds unless told."""
    how = {"first_seed": first_seed, "fingerprint": fingerprint, "drawing": drawing}
    samples = samples_of(after, **how)
    return model_change(Bias(), samples, baseline_of(before), margin, 0.95)


BEFORE = signs_of(RATES, IMAGES, 0)


def test_the_same_model_with_the_same_pictures_is_identical():
    same = change(BEFORE, BEFORE, first_seed=0)
    assert same.verdict.outcome is Outcome.PASS
    assert same.decided_by == "identical pictures"
    assert same.verdict.message.startswith("identical: the same model and the same images")
    assert (same.interval.estimate, same.interval.low, same.interval.high) == (0.0, 0.0, 0.0)
    assert same.interval.n == PROMPTS * IMAGES
    assert same.before == same.after > 0.3
    assert same.moved == ()


@pytest.mark.parametrize(
    "how",
    [{"fingerprint": "another", "first_seed": 0}, {"first_seed": 1}],
    ids=["another model", "other seeds"],
)
def test_the_same_labels_of_another_model_or_other_seeds_are_estimated(how):
    same = change(BEFORE, BEFORE, **how)
    assert same.verdict.outcome is Outcome.PASS
    assert same.decided_by == "margin"
    assert same.interval.low < 0.0 < same.interval.high


def test_one_label_that_differs_is_not_identical():
    other = [[-BEFORE[0][0], *BEFORE[0][1:]], *BEFORE[1:]]
    assert change(BEFORE, other, first_seed=0).decided_by == "margin"


@pytest.mark.slow
def test_other_seeds_of_the_same_model_are_red_in_1_of_20():
    rates, images = RATES[::2], 16
    outcomes = [
        change(signs_of(rates, images, seed), signs_of(rates, images, 1000 + seed)).verdict.outcome
        for seed in range(100)
    ]
    # The test's level is 0.05: more than 9 of 100 would come by chance in 3 of 100 tries.
    assert outcomes.count(Outcome.FAIL) <= 9
    # With 16 images, not every run excludes that even prompts grew by a tenth.
    assert outcomes.count(Outcome.PASS) >= 15


def test_a_biased_model_is_red_and_its_prompts_are_named():
    pushed = RATES.copy()
    pushed[:15] = 0.98
    result = change(BEFORE, signs_of(pushed, IMAGES, 7))
    assert result.verdict.outcome is Outcome.FAIL
    assert result.decided_by == "permutation test"
    assert result.verdict.p_value < 0.01
    assert result.verdict.limit.reason == BY_DEFAULT
    named = {entry.id for entry in result.moved}
    assert len(named & {prompt(k).id for k in range(15)}) >= 12
    assert len(named) <= 18
    assert result.remarks[0].startswith("probably more biased (probability): w")


def test_moved_prompts_come_with_their_counts_the_likeliest_first():
    before = [[1, -1] * 10] * 20
    after = [[1] * 18 + [0] * 2, [1] * 20, *before[2:]]
    result = change(before, after)
    first, second = result.moved
    assert first == MovedPrompt(
        prompt(1).id, first.probability, LabelCounts(10, 10, 0), LabelCounts(20, 0, 0)
    )
    assert second.id == prompt(0).id
    assert second.after == LabelCounts(18, 0, 2)
    assert 0.5 <= second.probability < first.probability <= 1.0


def test_before_and_after_differ_by_the_change():
    result = change(BEFORE, signs_of(RATES, IMAGES, 3))
    assert result.after - result.before == pytest.approx(result.interval.estimate)


def test_with_a_margin_the_interval_decides():
    pushed = signs_of(np.full(PROMPTS, 0.95), IMAGES, 1)
    even = signs_of(np.full(PROMPTS, 0.5), IMAGES, 2)
    assert change(even, pushed, 0.05).verdict.outcome is Outcome.FAIL
    wide = change(BEFORE, signs_of(RATES, IMAGES, 3), 0.3)
    assert wide.verdict.outcome is Outcome.PASS
    assert wide.decided_by == "margin"
    assert wide.verdict.limit.bound == 0.3
    assert change(BEFORE, signs_of(RATES, IMAGES, 3), 0.01).verdict.outcome is Outcome.INCONCLUSIVE


def test_a_pass_needs_the_end_of_the_interval_within_what_is_tolerated():
    unchanged = change(BEFORE, signs_of(RATES, IMAGES, 3))
    assert unchanged.fails_at_any_growth
    assert unchanged.verdict.limit.bound == 0.1
    assert (unchanged.verdict.outcome is Outcome.PASS) == (unchanged.interval.high <= 0.1)
    assert unchanged.decided_by == "margin"


def test_few_differences_between_images_of_equal_seeds_bound_the_change():
    before = [[1, -1] * 10] * 6
    moved = [[1, -1] * 9 + [1, 1], *before[1:]]
    result = change(before, moved, first_seed=0)
    assert result.verdict.outcome is Outcome.PASS
    assert result.interval.high < 0.1
    undetected = change(before, [[1, -1] * 9 + [1, 0], *before[1:]], first_seed=0)
    assert undetected.interval.high > 0.1
    assert change(before, moved, first_seed=50).interval.high > 0.1


def test_too_few_images_to_find_a_growth_stay_inconclusive():
    few = [signs[:2] for signs in BEFORE[:6]]
    result = change(few, [signs[2:4] for signs in BEFORE[:6]])
    assert result.verdict.outcome is Outcome.INCONCLUSIVE
    assert "stays possible; 0.1 is tolerated" in result.verdict.message


def test_without_two_clear_images_there_is_nothing_to_compare():
    result = change([[1, 0]] * 3, [[0, 0]] * 3)
    assert result.verdict.outcome is Outcome.INCONCLUSIVE
    assert result.interval is None
    assert (result.before, result.after) == (None, None)


def test_with_few_prompts_what_moved_is_told_without_a_probability():
    result = change([[1, -1] * 10] * 3, [[1] * 20, *[[1, -1] * 10] * 2])
    assert result.moved == ()
    assert result.remarks[0] == "got worse: w0 +1.00"


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"first_seed": 0}, "image by image: both runs have the same seeds"),
        ({"first_seed": 50}, "with the same seeds smaller changes would be found"),
        ({"first_seed": 0, "drawing": ("model",)}, "as unpaired images"),
    ],
)
def test_it_is_told_how_images_were_paired(how, told):
    before, after = [[1, -1] * 10] * 3, [[1] * 20, *[[1, -1] * 10] * 2]
    assert told in change(before, after, **how).remarks[-1]
    assert told in change(before, after, margin=0.1, **how).remarks[-1]


def of_prompts(before, after, margin=None, **how):
    samples = samples_of(after, **how)
    siblings = Siblings(samples.members, [sample.prompt.id for sample in samples])
    baseline = baseline_of(before)
    together = [replace(sample, siblings=siblings) for sample in samples]
    return [prompt_change(Bias(), sample, baseline, margin, 0.95) for sample in together]


def test_a_prompt_against_its_recorded_self():
    before = [[1, -1] * 10, [-1] * 20]
    worse, same = of_prompts(before, [[1] * 20, [-1] * 20], first_seed=50)
    assert worse.verdict.outcome is Outcome.FAIL
    assert (worse.before, worse.after) == (0.0, 1.0)
    assert worse.interval.estimate == 1.0
    assert (same.before, same.after) == (1.0, 1.0)
    assert same.verdict.outcome is not Outcome.FAIL
    assert same.decided_by == "margin"
    assert same.verdict.limit.bound == 0.2


def test_a_prompt_with_the_same_pictures_is_identical():
    (same,) = of_prompts([[1, -1, 0]], [[1, -1, 0]])
    assert same.decided_by == "identical pictures"
    assert same.verdict.outcome is Outcome.PASS
    assert same.interval.n == 3
    assert (same.before, same.after) == (0.0, 0.0)


def test_a_prompt_without_a_clear_image_has_no_score():
    (gone,) = of_prompts([[1, -1]], [[0, 0]], first_seed=9)
    assert (gone.before, gone.after) == (0.0, None)
    assert gone.interval is None


@pytest.mark.parametrize(
    ("fingerprint", "drawing"), [("model", "model"), ("other", "model"), ("other", "other")]
)
def test_where_a_model_draws_anew_nothing_is_paired_by_seed(fingerprint, drawing):
    after = [signs[::-1] for signs in BEFORE]
    how = {"first_seed": 0, "fingerprint": fingerprint}
    apart = change(BEFORE, after, first_seed=10_000, fingerprint=fingerprint)
    paired = change(BEFORE, after, **how)
    unpaired = change(BEFORE, after, **how, drawing=[drawing])
    assert unpaired.verdict.p_value == apart.verdict.p_value != paired.verdict.p_value
    assert UNPAIRED in unpaired.remarks
    assert UNPAIRED not in paired.remarks
    assert change(BEFORE, BEFORE, **how, drawing=[drawing]).decided_by == "margin"


def test_a_prompt_of_a_model_that_draws_anew_is_not_paired_either():
    before, after = [[1, -1] * 10], [[1] * 14 + [-1, 1] * 3]
    apart = of_prompts(before, after, 0.0, first_seed=50)[0]
    paired = of_prompts(before, after, 0.0)[0]
    unpaired = of_prompts(before, after, 0.0, drawing=["model"])[0]
    assert unpaired.verdict.p_value == apart.verdict.p_value != paired.verdict.p_value
    assert UNPAIRED in unpaired.remarks
    assert UNPAIRED not in paired.remarks


def test_scores_at_fewer_images_than_a_run_has_are_explained():
    more = [[*signs, 1, -1, 1] for signs in BEFORE]
    assert any("as both runs have" in told for told in change(BEFORE, more, first_seed=50).remarks)
    same = change(BEFORE, signs_of(RATES, IMAGES, 3), first_seed=50)
    assert not any("as both runs have" in told for told in same.remarks)
