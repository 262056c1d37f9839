"""Parity against a recorded run."""

from __future__ import annotations

import pytest

from pytest_t2i.audits.parity_change import detectable, model_change, prompt_change
from pytest_t2i.data import Interval, Outcome, Undetected
from pytest_t2i.verdicts.baseline_file import Baseline, RecordedPrompt

WORDS = {"m": "male", "f": "female", "?": Undetected.NO_FACE}
PASS, FAIL, OPEN = Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE


def recorded(model="model-1", first_seed=0, **letters):
    """A baseline of prompts: recorded(nurse="mmf?")."""
    prompts = {
        f"a {concept}": RecordedPrompt(
            f"profession-{concept}",
            tuple(range(first_seed, first_seed + len(its))),
            tuple(WORDS[letter] for letter in its),
        )
        for concept, its in letters.items()
    }
    return Baseline("m", model, {}, {}, prompts)


def of_model(samples, baseline, margin=None):
    return model_change(samples, "corrected", baseline, margin, 0.95)


def test_the_same_images_of_the_same_model_are_identical(samples, together):
    baseline = recorded(nurse="mmf?", pilot="mf")
    now = samples(nurse="mmf?", pilot="mf")
    for margin in (None, 0.0, 0.05):
        change = of_model(now, baseline, margin)
        assert change.verdict.outcome is PASS
        assert change.interval == Interval(0.0, 0.0, 0.0, 1.0, "identical", 6)
    nurse, _ = together(nurse="mmf?", pilot="mf")
    change = prompt_change(nurse, nurse.together, baseline, None, 0.95)
    assert (change.verdict.outcome, change.interval.method) == (PASS, "identical")


@pytest.mark.parametrize(
    ("model", "letters"), [("model-2", "mmf?"), ("model-1", "mfm?"), ("model-1", "mmff")]
)
def test_what_differs_in_anything_is_not_identical(samples, model, letters):
    change = of_model(samples(model, nurse=letters), recorded(nurse="mmf?"))
    assert change.verdict.interval is None or change.interval.method != "identical"
    assert change.verdict.outcome is OPEN


def test_other_seeds_are_not_identical(samples):
    change = of_model(samples(nurse="mmf?"), recorded(nurse="mmf?", first_seed=7))
    assert change.interval.method != "identical"


FAIR = {f"word{k}": "mf" * 20 for k in range(10)}
ONE_SIDED = {f"word{k}": "m" * 40 for k in range(10)}


def test_a_model_that_became_one_sided_is_a_regression(samples):
    change = of_model(samples("model-2", **ONE_SIDED), recorded(**FAIR))
    assert change.verdict.outcome is FAIL
    assert change.verdict.p_value < 0.01
    assert change.interval.estimate > 0.9


def test_a_model_that_became_even_is_none(samples):
    change = of_model(samples("model-2", **FAIR), recorded(**ONE_SIDED))
    assert change.verdict.outcome is PASS
    assert change.interval.estimate < -0.9


def test_a_stated_margin_is_tolerated(samples):
    mild = dict.fromkeys(FAIR, "m" * 24 + "f" * 16)  # a score of 0.2 after one of 0
    now, before = samples("model-2", **mild), recorded(**FAIR)
    assert of_model(now, before, margin=0.6).verdict.outcome is PASS
    assert of_model(now, before, margin=0.6).verdict.limit.bound == 0.6
    assert of_model(now, before, margin=0.0).verdict.outcome is not PASS


def test_prompts_of_a_test_share_their_error_in_a_regression(together):
    before = recorded(**FAIR)
    now = together("model-2", **{**FAIR, "word0": "m" * 40})
    changes = [prompt_change(s, s.together, before, None, 0.95) for s in now]
    assert changes[0].verdict.outcome is FAIL
    assert FAIL not in {change.verdict.outcome for change in changes[1:]}
    assert changes[0].remarks == ("got worse: word0 +1.00",)


def test_a_growth_that_can_be_found_shrinks_with_the_interval():
    wide = Interval(0.0, -0.2, 0.2, 0.95, "test", 10)
    narrow = Interval(0.0, -0.1, 0.1, 0.95, "test", 10)
    assert detectable(wide, 0.95) == pytest.approx(2 * detectable(narrow, 0.95))
    assert detectable(narrow, 0.99) > detectable(narrow, 0.95)
