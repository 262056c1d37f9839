"""Planned power is the power of the verdicts that a run reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import statistics
from pytest_t2i.data import Limit, Outcome
from pytest_t2i.statistics import power
from pytest_t2i.statistics.power import Design
from pytest_t2i.verdicts import judge as verdicts

LONE = Design(prompts=1)


@pytest.mark.parametrize("bias", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("images", [7, 20])
def test_a_prompts_power_is_that_of_its_verdict(bias: float, images: int) -> None:
    limit, total = Limit("prompt_bias_score", 0.4), 0.0
    right = Outcome.FAIL if bias > limit.bound else Outcome.PASS
    for k in range(images + 1):
        pair = (k, images - k)
        interval = abs(statistics.prompt_bias_interval(*pair, 0.95))
        p_value = statistics.bias_p_value(*pair, limit.bound)
        # Five prompts in all, of which four are blameless: the other one is on its own.
        (verdict, *_) = verdicts.judge_family(
            [interval, None, None, None, None], [p_value, 1.0, 1.0, 1.0, 1.0],
            limit, "higher", level=0.95,
        )  # fmt: skip
        chance = float(stats.binom.pmf(k, images, (1 + bias) / 2))
        total += chance * (verdict.outcome is right)
    assert power.prompt_power(bias, 0.4, images, Design(prompts=5)) == pytest.approx(total)


def test_a_prompts_change_has_the_power_of_its_test() -> None:
    n, margin, total = 12, 0.2, 0.0
    for before in range(n + 1):
        for after in range(n + 1):
            labels = [np.repeat([1, -1], [k, n - k]) for k in (before, after)]
            p = statistics.paired_prompt_p_value(*labels, margin=margin, shared_seeds=False)
            chance = stats.binom.pmf(before, n, 0.55) * stats.binom.pmf(after, n, 0.95)
            total += float(chance) * (p <= 0.05)
    assert power.prompt_change_power(0.1, 0.8, margin, n, LONE) == pytest.approx(total)


def test_model_power_keeps_its_promises() -> None:
    design = Design(prompts=40, repeats=20)
    assert power.model_power(0.2, 0.2, 20, design) <= 0.2, "at the limit it is seldom decided"
    assert power.model_power(0.5, 0.2, 20, design) == 1.0
    assert power.model_power(0.5, 0.2, 20, design) == power.model_power(0.5, 0.2, 20, design)
    assert power.model_change_power(0.3, 0.0, 0.05, 20, design) <= 0.1
    assert power.model_change_power(0.1, 0.5, 0.05, 20, design) == 1.0


@pytest.mark.parametrize(("bias", "bound"), [(0.2, 0.5), (0.0, 0.4), (0.8, 0.5), (0.9, 0.6)])
def test_the_plan_and_the_message_of_an_open_verdict_agree(bias: float, bound: float) -> None:
    """What a message says would decide is what a plan gives an even chance."""
    design = Design(prompts=7)
    wanted = power.images_needed(lambda n: power.prompt_power(bias, bound, n, design), 0.5)
    assert wanted is not None
    told = verdicts.prompt_images_to_decide(bias, bound, 10, prompts=7, level=0.95)
    assert told == max(1, wanted - 10)
    planned = power.images_needed(lambda n: power.prompt_power(bias, bound, n, LONE), 0.5)
    assert planned is not None
    n = 20
    men = round(n * (1 + bias) / 2)
    found = statistics.prompt_bias_interval(men, n - men, 0.95)
    more = verdicts.images_to_decide(abs(found), bound, "higher", n)
    assert more is not None
    # What is told of other metrics goes by a two-sided interval and a square-root law; exact
    # tests are one-sided beyond the limit and so need less there.
    assert 0.5 * planned <= n + more <= 2 * planned


def test_images_needed() -> None:
    needed = power.images_needed(lambda n: power.prompt_power(0.9, 0.5, n, LONE), 0.8)
    assert needed is not None
    assert power.prompt_power(0.9, 0.5, needed, LONE) >= 0.8
    assert all(power.prompt_power(0.9, 0.5, n, LONE) < 0.8 for n in range(1, needed))
    assert power.images_needed(lambda n: 0.0, 0.8) is None
    assert power.images_needed(lambda n: n / 50, 0.8, (10, 20, 40, 80)) == 40
    assert power.images_needed(lambda n: 0.0, 0.8, (10, 20)) is None
    assert power.smallest_found(lambda value: value, 0.8, 0.5) == 0.8
    assert power.smallest_found(lambda value: 0.0, 0.8, 0.5) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: power.prompt_power(1.2, 0.5, 20, LONE), "bias=1.2"),
        (lambda: power.prompt_power(0.2, -0.5, 20, LONE), "bound=-0.5"),
        (lambda: power.prompt_power(0.2, 0.5, 0, LONE), "images=0"),
        (lambda: power.model_power(0.2, 0.5, 20, Design(prompts=0)), "prompts=0"),
        (lambda: power.model_power(0.2, 0.5, 20, Design(10, level=1.0)), "level=1.0"),
        (lambda: power.prompt_change_power(0.9, 0.2, 0.1, 20, LONE), "before"),
        (lambda: power.model_change_power(1.0, 0.0, 0.1, 20, LONE), "before=1"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
