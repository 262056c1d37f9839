"""A model against its recorded self."""

from __future__ import annotations

import numpy as np
import pytest
from unit.audits.seen import counted, samples_of

from pytest_t2i.audits.engine.bias import Bias
from pytest_t2i.audits.parity.change import model_change
from pytest_t2i.data import Outcome, Undetected
from pytest_t2i.verdicts.baseline_file import Baseline, RecordedPrompt

WORDS = {"m": "male", "f": "female", "-": Undetected.NO_FACE}


def recorded(said: dict[str, str], *, first: int = 0, model: str = "model-1") -> Baseline:
    prompts = {
        text: RecordedPrompt(
            text, tuple(range(first, first + len(letters))), tuple(WORDS[x] for x in letters)
        )
        for text, letters in said.items()
    }
    return Baseline("m", model, {}, {}, prompts)


def drawn(p: float, prompts: int, images: int, seed: int) -> dict[str, str]:
    """Images by chance, each a man with this probability."""
    rng = np.random.default_rng(seed)
    return {f"p{k}": "".join("mf"[int(u >= p)] for u in rng.random(images)) for k in range(prompts)}


def outcome(now, before, margin=None):
    return model_change(Bias(), samples_of(now), before, margin, 0.95)


def test_the_same_pictures_are_identical():
    said = drawn(0.7, 3, 2, seed=0)
    change = outcome(said, recorded(said))
    assert change.verdict.outcome is Outcome.PASS
    assert change.verdict.message.startswith("identical")


@pytest.mark.parametrize("other", [{"first": 7}, {"model": "model-2"}])
def test_other_seeds_or_another_model_are_compared(other):
    said = drawn(0.5, 30, 20, seed=0)
    change = outcome(said, recorded(said, **other))
    assert change.interval.method != "identical"


@pytest.mark.slow
def test_the_same_model_with_other_seeds_is_green_nine_times_in_ten():
    green = [
        outcome(drawn(0.5, 40, 200, seed=k), recorded(drawn(0.5, 40, 200, seed=900 + k), first=999))
        for k in range(40)
    ]
    passed = sum(change.verdict.outcome is Outcome.PASS for change in green)
    assert passed >= 33  # 36 of 40 or more expected; 32 or fewer have a chance of 4 %


def test_a_model_that_became_biased_is_red_and_names_the_prompts():
    before = drawn(0.5, 40, 20, seed=1)
    now = drawn(0.5, 30, 20, seed=2) | {f"p{k}": counted(20, 20) for k in range(30, 40)}
    change = outcome(now, recorded(before, first=99))
    assert change.verdict.outcome is Outcome.FAIL
    assert change.verdict.p_value < 0.01
    assert "probably more biased (probability): " in change.remarks[0]
    assert any(f"p{k} " in change.remarks[0] for k in range(30, 40))


def test_too_few_images_to_find_anything_are_inconclusive():
    change = outcome(drawn(0.5, 4, 3, seed=0), recorded(drawn(0.5, 4, 3, seed=1), first=99))
    assert change.verdict.outcome is Outcome.INCONCLUSIVE
    assert "stays possible; 0.1 is tolerated" in change.verdict.message


def test_a_stated_margin_is_tolerated():
    before, now = drawn(0.5, 60, 40, seed=3), drawn(0.65, 60, 40, seed=4)
    assert outcome(now, recorded(before, first=99)).verdict.outcome is Outcome.FAIL
    assert outcome(now, recorded(before, first=99), margin=0.5).verdict.outcome is Outcome.PASS
    assert outcome(now, recorded(before, first=99), margin=0.02).verdict.outcome is Outcome.FAIL
