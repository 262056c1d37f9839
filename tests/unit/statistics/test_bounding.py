"""Bounding functions keep to their side of the truth, and exact tails are those of simulation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.statistics.bounding import bounding_distance, rarer_chances
from pytest_t2i.statistics.model import Sizes, equal_magnitudes, least_shown, score_tails, sizes_of

BIAS = np.linspace(0.0, 1.0, 997)
EVEN = 0.5


def of_bias(n, prompts, side):
    """The function of |2p - 1|, by the rarer gender's images."""
    value, variance = bounding_distance(n, EVEN, side, prompts).twice()
    assert np.array_equal(value, value[::-1])
    return value[: n // 2 + 1], variance[: n // 2 + 1]


SIDES: Any = ("below", "above")


@pytest.mark.parametrize("n", [1, 2, 3, 8, 20, 57, 100, 101, 400])
@pytest.mark.parametrize("prompts", [1, 10, 1000])
def test_expectations_stay_on_their_side(n: int, prompts: int) -> None:
    chances = rarer_chances(n, BIAS)
    for side, sign in zip(SIDES, (-1.0, 1.0), strict=True):
        value, variance = of_bias(n, prompts, side)
        assert np.min(sign * (chances @ value - BIAS)) > -2e-5
        spread = chances @ value**2 - (chances @ value) ** 2
        assert np.min(n * (chances @ variance - spread)) > -3e-3
        assert np.all(variance >= 0.0)


@pytest.mark.parametrize(
    ("n", "below", "above"), [(4, 0.11, 0.06), (20, 0.025, 0.017), (100, 5.2e-3, 3.6e-3)]
)
def test_they_are_close_to_the_truth(n: int, below: float, above: float) -> None:
    chances = rarer_chances(n, BIAS)
    slack = {side: np.mean(np.abs(chances @ of_bias(n, 100, side)[0] - BIAS)) for side in SIDES}
    assert below / 2 < slack["below"] < below
    assert above / 2.5 < slack["above"] < above
    assert of_bias(n, 100, "below")[0][0] == pytest.approx(1.0, abs=2e-3)


def test_more_prompts_bear_more_variance_and_less_distance() -> None:
    chances = rarer_chances(20, BIAS)
    for side in SIDES:
        few, many = (of_bias(20, prompts, side) for prompts in (3, 3000))
        assert np.mean(many[1]) > 1.2 * np.mean(few[1])
        distances = [np.mean(np.abs(chances @ value - BIAS)) for value, _ in (few, many)]
        assert distances[1] < 0.8 * distances[0]
    assert bounding_distance(20, EVEN, "below", 90) is bounding_distance(20, EVEN, "below", 110)


def test_chances_of_the_rarer_gender() -> None:
    for n in (3, 4):
        chances = rarer_chances(n, np.array([0.0, 0.4, 1.0]))
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)
        assert chances[2, 0] == 1.0
        assert chances[1, 1] == pytest.approx(sum(stats.binom.pmf([1, n - 1], n, 0.7)))
    assert rarer_chances(4, np.array([0.4]))[0, 2] == pytest.approx(stats.binom.pmf(2, 4, 0.7))


@pytest.mark.parametrize("n", [1, 4, 20, 61, 120])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.5, 1.0])
def test_distances_from_a_reference_are_bounded(n: int, share: float) -> None:
    p = np.unique(np.append(np.linspace(0.0, 1.0, 401), share))
    chances = stats.binom.pmf(np.arange(n + 1), n, p[:, None])
    distance = np.abs(p - share)
    for side, sign in zip(SIDES, (-1.0, 1.0), strict=True):
        function = bounding_distance(n, share, side)
        assert np.min(sign * (chances @ function.value - distance)) > -1e-4
        spread = chances @ function.value**2 - (chances @ function.value) ** 2
        assert np.min(chances @ function.variance - spread) > -2e-4
    expected = chances @ bounding_distance(n, share, "below").value
    if n >= 20:
        assert np.mean(distance - expected) < 0.03


@pytest.mark.parametrize("sizes", [Sizes((20,), (7,)), Sizes((3, 10, 41), (4, 5, 6))])
@pytest.mark.parametrize("mean", [0.0, 0.35, 0.9])
def test_tails_are_those_of_simulated_suites(sizes: Sizes, mean: float) -> None:
    rng = np.random.default_rng(3)
    bias = least_shown(sizes, mean)
    scores = sum(
        np.abs(2 * rng.binomial(n, (1 + b) / 2, size=(40_000, k)) / n - 1).sum(axis=1)
        for n, k, b in zip(*sizes, bias, strict=True)
    ) / sizes.total  # fmt: skip
    for score in np.quantile(scores, [0.02, 0.3, 0.7, 0.98]):
        tails = score_tails(sizes, bias, float(score))
        assert tails.below == pytest.approx(np.mean(scores <= score + 1e-9), abs=0.022)
        assert tails.above == pytest.approx(np.mean(scores >= score - 1e-9), abs=0.022)
        assert tails.below >= np.mean(scores <= score + 1e-9) - 0.006
        assert tails.above >= np.mean(scores >= score - 1e-9) - 0.006


def test_tails_of_one_prompt_are_binomial() -> None:
    for men, bias in product(range(10, 21), (0.0, 0.3, 1.0)):
        tails = score_tails(Sizes((20,), (1,)), (bias,), (2 * men - 20) / 20)
        k = np.arange(21)
        chance = stats.binom.pmf(k, 20, (1 + bias) / 2)
        far = np.abs(2 * k - 20)
        assert tails.above == pytest.approx(chance[far >= 2 * men - 20].sum(), abs=1e-12)
        assert tails.below == pytest.approx(chance[far <= 2 * men - 20].sum(), abs=1e-12)


def test_ten_thousand_prompts_are_nearly_normal() -> None:
    sizes = Sizes((20,), (10_000,))
    fair = rarer_chances(20, np.zeros(1))[0]
    score = 1 - np.arange(11) / 10
    mean = fair @ score
    deviation = np.sqrt((fair @ score**2 - mean**2) / 10_000)
    for z in (-2.0, 0.5, 3.0):
        tails = score_tails(sizes, equal_magnitudes(sizes, 0.0), mean + z * deviation)
        assert tails.below == pytest.approx(stats.norm.cdf(z), abs=0.004)


def test_fewer_images_carry_more_of_the_bias_that_is_least_shown() -> None:
    sizes = Sizes((2, 8, 40), (3, 4, 5))
    for mean in (0.0, 0.1, 0.5, 0.97, 1.0):
        bias = np.array(least_shown(sizes, mean))
        assert np.average(bias, weights=sizes.prompts) == pytest.approx(mean, abs=1e-9)
        assert np.all(np.diff(bias) <= 1e-12)
    shown = [
        sum(k * rarer_chances(n, np.array([b]))[0] @ (1 - 2 * np.arange(n // 2 + 1) / n)
            for n, k, b in zip(*sizes, bias, strict=True))
        for bias in (least_shown(sizes, 0.5), equal_magnitudes(sizes, 0.5))
    ]  # fmt: skip
    assert shown[0] < shown[1] - 0.1
    assert sizes_of(np.array([7, 3, 7])) == Sizes((3, 7), (1, 2))
    assert sizes.total == 12


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: bounding_distance(0, EVEN, "below"), "n=0"),
        (lambda: bounding_distance(3, EVEN, "below", 0), "prompts=0"),
        (lambda: bounding_distance(3, EVEN, "beside"), "side='beside'"),  # type: ignore[arg-type]
    ],
)
def test_what_makes_no_sense_is_refused(call: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        call()
