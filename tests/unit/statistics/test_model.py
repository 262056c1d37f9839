"""Verdicts about these prompts: intervals, their p-values, and what both agree on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import statistics
from pytest_t2i.data import Interval
from pytest_t2i.statistics import prompt_bias_p_value
from pytest_t2i.statistics.means import gap_p_value
from pytest_t2i.statistics.model import TWO_WAYS, FixedWords, least_favourable, lower_end, upper_end

OPTIONS: Any = {"level": 0.9, "seed": 0}
COUNTS: list[tuple[list[int], list[int]]] = [
    ([19], [1]), ([10], [10]), ([20, 18, 1], [0, 2, 19]), ([4] * 12, [0] * 12),
    (list(range(21)) * 2, list(range(20, -1, -1)) * 2), ([5, 0, 9, 1, 30], [5, 7, 1, 0, 10]),
    ([20] * 50, [0] * 50), ([10] * 50, [10] * 50),
]  # fmt: skip


@pytest.mark.parametrize("counts", COUNTS)
def test_p_values_and_intervals_agree(counts: Any) -> None:
    entry = statistics.model_bias_interval(*counts, **OPTIONS)
    assert 0.0 <= entry.low <= entry.estimate <= entry.high <= 1.0
    for end, alternative, away in ((entry.low, "greater", -0.02), (entry.high, "less", 0.02)):
        for bound, least, most in ((end + away, 0.0, 0.051), (end - away, 0.049, 1.0)):
            if 0.0 <= bound <= 1.0 and 0.001 < end < 0.999:
                p = statistics.model_bias_p_value(*counts, bound, alternative=alternative)
                assert least <= p <= most


@pytest.mark.parametrize("men", range(10, 21))
def test_one_prompt_has_its_exact_test(men: int) -> None:
    for bound in (0.0, 0.2, 0.5):
        p = statistics.model_bias_p_value([men], [20 - men], bound)
        assert p == pytest.approx(prompt_bias_p_value(men, 20 - men, bound, "beyond"), abs=1e-12)
        within = statistics.model_bias_p_value([men], [20 - men], bound, alternative="less")
        chance = stats.binom.pmf(np.arange(21), 20, (1 + bound) / 2)
        exact = chance[np.abs(np.arange(21) - 10) <= men - 10].sum()
        assert within >= exact - 1e-12
        if men > 10:
            assert within == pytest.approx(exact)


def test_ends_are_symmetric_and_do_not_depend_on_order_or_seed() -> None:
    men = np.array([3, 17, 10, 20, 8, 2, 9, 20, 11, 16, 4, 1])
    entry = statistics.model_bias_interval(men, 20 - men, **OPTIONS)
    assert entry == statistics.model_bias_interval(20 - men, men, level=0.9, seed=7)
    again = statistics.model_bias_interval(men[::-1], 20 - men[::-1], **OPTIONS)
    assert (again.low, again.high) == pytest.approx((entry.low, entry.high))
    wider = statistics.model_bias_interval(men, 20 - men, level=0.99, seed=0)
    assert wider.low < entry.low < entry.high < wider.high
    assert wider.estimate == entry.estimate
    empty = statistics.model_bias_interval([*men, 0], [*(20 - men), 0], **OPTIONS)
    assert empty == entry
    assert entry.n == 12
    assert entry.method == "bounding functions"


def test_a_few_prompts_are_decided_by_enough_images() -> None:
    for prompts in (1, 2, 3, 9, 10):
        for n in (100, 3000):
            fair = [n // 2] * prompts
            p = statistics.model_bias_p_value(fair, fair, 0.3, alternative="less")
            assert p < 0.01
        one_sided: Any = ([30] * prompts, [0] * prompts)
        assert statistics.model_bias_p_value(*one_sided, 0.5) < 0.01


def test_evenness_beyond_belief_claims_no_certainty() -> None:
    for prompts, n in ((3, 20), (100, 20), (100, 1000)):
        half = [n // 2] * prompts
        result = statistics.model_bias_interval(half, half, level=0.95, seed=0)
        assert result.low == 0.0
        assert result.high > 0.2 / np.sqrt(n * np.sqrt(prompts))
    assert FixedWords.of(np.array([10] * 3), np.array([10] * 3)).p_less(0.0) == pytest.approx(0.1)


@pytest.mark.parametrize("images", [300, 3000])
@pytest.mark.parametrize("fair", [0, 1, 10])
def test_many_images_and_one_sided_words_give_numbers(images: int, fair: int) -> None:
    """0/0 in the deconvolution: NaN, after which no report could be written."""
    bias = np.where(np.arange(20) < fair, 0.0, 1.0)
    men = np.random.default_rng(1).binomial(images, (1 + bias) / 2)
    counts = (men, images - men)
    numbers = statistics.model_bias_interval(*counts, level=0.95, seed=0)
    assert np.all(np.isfinite([numbers.low, numbers.estimate, numbers.high]))
    assert numbers.low - 0.01 <= bias.mean() <= numbers.high + 0.01
    assert numbers.high - numbers.low > 0.0001
    score = statistics.corrected_model_bias_score(*counts)
    assert score == pytest.approx(bias.mean(), abs=0.02)


def test_ends_stay_within_zero_and_one() -> None:
    assert lower_end(lambda b: 0.001 + b, 0.0005) == 0.0
    assert lower_end(lambda b: 0.0, 0.05) == 1.0
    assert upper_end(lambda b: 0.0, 0.05) == 0.0
    assert upper_end(lambda b: 1.0, 0.05) == 1.0
    assert lower_end(lambda b: b**2, 0.04) == pytest.approx(0.2, abs=1e-5)
    assert upper_end(lambda b: (1 - b) ** 2, 0.04) == pytest.approx(0.8, abs=1e-5)


def test_inverted_intervals_give_the_p_value_of_the_test() -> None:
    def normal(level: float) -> Interval:
        z = float(stats.norm.ppf((1 + level) / 2))
        return Interval(0.5, 0.5 - 0.1 * z, 0.5 + 0.1 * z, level, "normal", 9)

    for bound in (0.3, 0.45, 0.49):
        p = statistics.inverted_p_value(normal, bound)
        assert p == pytest.approx(stats.norm.sf((0.5 - bound) / 0.1), abs=2e-5)
        p = statistics.inverted_p_value(normal, 1 - bound, alternative="less")
        assert p == pytest.approx(stats.norm.sf((0.5 - bound) / 0.1), abs=2e-5)
        assert statistics.inverted_p_value(normal, bound, alternative="less") == 1.0
    assert 0 < statistics.inverted_p_value(normal, -9.0) <= 2e-5
    assert statistics.one_sided(0.95) == pytest.approx(0.9)
    p = statistics.inverted_p_value(normal, statistics.model_bias_interval([1], [1], **OPTIONS).low)
    assert p < 0.001


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: statistics.model_bias_p_value([1], [1], 1.5), "bound=1.5"),
        (lambda: statistics.model_bias_p_value([1], [1], 0.5, alternative="more"), "'more'"),
        (lambda: statistics.one_sided(0.5), "level=0.5"),
        (lambda: statistics.one_sided(1.0), "level=1.0"),
        (lambda: gap_p_value([[1.0, 2.0]], -1.0), "bound=-1"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        call()


def test_of_prompts_that_differ_students_test_may_be_the_stronger() -> None:
    bias = np.random.default_rng(0).beta(1, 2, 40)
    men = np.random.default_rng(1).binomial(20, (1 + bias) / 2)
    evidence, bound = FixedWords.of(men, 20 - men), 0.48
    above = evidence.above
    student = stats.t.cdf((above.value - bound) / above.error, evidence.mixed - 1)
    exact = max(map(evidence._exact_less, least_favourable(evidence.sizes, bound)))
    assert student < exact
    assert evidence.p_less(bound) == pytest.approx(TWO_WAYS * student)
