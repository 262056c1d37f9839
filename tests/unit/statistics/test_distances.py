"""Ends of a mean distance: by bounding functions, and by what the plug-in leaves room for."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from pytest_t2i import metrics, statistics
from pytest_t2i.statistics import prompt_bias_p_value
from pytest_t2i.statistics.distances import (
    _largest_in_part,
    distance_range,
    mean_total_variation_interval,
    total_variation_bounds,
    total_variation_floor,
    total_variation_interval,
    total_variation_p_value,
    total_variation_within,
)
from pytest_t2i.statistics.undetected import worst_case_bounds

EVEN = {"male": 0.5, "female": 0.5}
THREE = {"a": 0.2, "b": 0.3, "c": 0.5}


@pytest.mark.parametrize("male", [0, 3, 10, 20])
def test_with_an_even_reference_it_is_half_the_prompt_bias_score(male: int) -> None:
    counts = {"male": male, "female": 20 - male}
    half = abs(statistics.prompt_bias_interval(male, 20 - male, 0.95))
    result = total_variation_interval(counts, EVEN, 0.95)
    assert (2 * result.estimate, 2 * result.low, 2 * result.high) == pytest.approx(
        (half.estimate, half.low, half.high)
    )
    for bound in (0.0, 0.1, 0.25):
        assert total_variation_p_value(counts, EVEN, bound) == pytest.approx(
            prompt_bias_p_value(male, 20 - male, 2 * bound, "beyond")
        )
    worst = worst_case_bounds(male, 20 - male, 5)
    bounds = total_variation_bounds(counts, 5, EVEN)
    assert (2 * bounds.low, 2 * bounds.high) == pytest.approx((abs(worst).low, abs(worst).high))


@pytest.mark.parametrize("share", [0.0, 0.12, 0.3, 0.5, 1.0])
def test_two_labels_cover_and_the_test_keeps_its_level_at_every_rate(share: float) -> None:
    n, reference = 12, {"male": share, "female": 1 - share}
    counts = [{"male": k, "female": n - k} for k in range(n + 1)]
    result = [total_variation_interval(count, reference, 0.95) for count in counts]
    p_values = np.array([total_variation_p_value(c, reference, 0.1) for c in counts])
    for p in np.linspace(0, 1, 41):
        chance = stats.binom.pmf(np.arange(n + 1), n, p)
        holds = [i.low - 1e-9 <= abs(p - share) <= i.high + 1e-9 for i in result]
        assert chance @ holds >= 0.95
        if abs(p - share) <= 0.1:
            assert chance @ (p_values <= 0.05) <= 0.05 + 1e-9


def test_three_labels_cover_and_the_test_keeps_its_level() -> None:
    n = 8
    outcomes = [(a, b, n - a - b) for a, b in product(range(n + 1), repeat=2) if a + b <= n]
    counts = [dict(zip("abc", outcome, strict=True)) for outcome in outcomes]
    result = [total_variation_interval(count, THREE, 0.95) for count in counts]
    p_values = np.array([total_variation_p_value(c, THREE, 0.2) for c in counts])
    for truth in ([0.2, 0.3, 0.5], [0.4, 0.3, 0.3], [0, 0, 1], [0.05, 0.05, 0.9], [1, 0, 0]):
        distance = 0.5 * sum(abs(t - r) for t, r in zip(truth, THREE.values(), strict=True))
        chance = stats.multinomial.pmf(outcomes, n, truth)
        assert chance @ [i.low - 1e-9 <= distance <= i.high + 1e-9 for i in result] >= 0.95
        if distance <= 0.2:
            assert chance @ (p_values <= 0.05) <= 0.05


def test_p_value_of_many_labels_agrees_with_the_interval() -> None:
    counts = {"a": 15, "b": 2, "c": 1}
    p = total_variation_p_value(counts, THREE, 0.3)
    assert 0 < p < 0.05
    for level, above in ((1 - p - 1e-4, True), (1 - p + 1e-4, False)):
        result = total_variation_interval(counts, THREE, level)
        assert (result.low > 0.3) is above


def test_the_range_over_a_box_is_that_of_a_fine_grid() -> None:
    low, high = np.array([0.1, 0.2, 0.0]), np.array([0.5, 0.6, 0.4])
    expected = np.array([0.7, 0.1, 0.2])
    grid = np.linspace(0, 1, 201)
    points = np.array([(a, b, 1 - a - b) for a, b in product(grid, grid)])
    inside = points[np.all((points >= low - 1e-9) & (points <= high + 1e-9), axis=1)]
    distances = 0.5 * np.abs(inside - expected).sum(axis=1)
    assert distance_range(low, high, expected) == pytest.approx(
        (distances.min(), distances.max()), abs=1e-6
    )


@pytest.mark.slow
def test_a_model_that_follows_its_reference_shows_the_floor_and_is_corrected() -> None:
    rng = np.random.default_rng(4)
    share = rng.uniform(0.05, 0.95, size=400)
    men = rng.binomial(20, share)
    counts, reference = np.stack([men, 20 - men], 1), np.stack([share, 1 - share], 1)
    plug_in = float(np.mean(np.abs(men / 20 - share)))
    assert plug_in == pytest.approx(total_variation_floor(counts, reference), abs=0.01)
    assert plug_in > 0.06
    result = mean_total_variation_interval(counts, reference, level=0.95)
    assert result.estimate < 0.03
    assert result.low == 0.0
    assert result.high < 0.1


def test_three_labels_over_prompts() -> None:
    rng = np.random.default_rng(4)
    counts = rng.multinomial(20, [0.6, 0.3, 0.1], size=200)
    prompts = mean_total_variation_interval(counts, [0.2, 0.3, 0.5], level=0.95)
    assert prompts.low <= 0.4 <= prompts.high
    assert prompts.estimate == pytest.approx(0.4, abs=0.02)
    again = mean_total_variation_interval(counts, [0.2, 0.3, 0.5], level=0.95)
    assert again == prompts


def test_the_order_of_labels_and_prompts_does_not_matter() -> None:
    counts = np.array([[3, 17], [9, 11], [0, 0], [20, 0]])
    reference = np.array([[0.1, 0.9], [0.5, 0.5], [0.5, 0.5], [0.9, 0.1]])
    turned = (counts[:, ::-1], reference[:, ::-1]), (counts[::-1], reference[::-1])
    known, *found = (
        mean_total_variation_interval(*given, level=0.95)
        for given in ((counts, reference), *turned)
    )
    assert [other.estimate for other in found] == pytest.approx([known.estimate] * 2)


def test_one_prompt_alone_has_its_exact_interval() -> None:
    exact = total_variation_interval({"a": 18, "b": 2}, {"a": 0.2, "b": 0.8}, 0.95)
    result = mean_total_variation_interval([[18, 2]], [0.2, 0.8], level=0.95)
    assert (result.low, result.high) == (exact.low, exact.high)


OPTIONS: dict[str, Any] = {"level": 0.95, "seed": 0}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: metrics.total_variation_distance({"a": 1}, {"b": 1.0}), "must have the labels"),
        (lambda: metrics.total_variation_distance({"a": 0, "b": 0}, {"a": 0.5, "b": 0.5}), "image"),
        (lambda: metrics.total_variation_distance({"a": 1, "b": 0}, {"a": 0.5, "b": 0.4}), "sum"),
        (lambda: metrics.total_variation_distance({"a": 1, "b": 0}, {"a": 1.5, "b": -0.5}), "lie"),
        (lambda: total_variation_interval({"a": 0, "b": 0}, EVEN, 0.95), "labels"),
        (
            lambda: total_variation_p_value({"a": 1, "b": 1}, {"a": 1, "b": 0}, 2),
            "bound",
        ),
        (
            lambda: mean_total_variation_interval([[0, 0]], [0.5, 0.5], level=0.9),
            "no im",
        ),
        (lambda: total_variation_floor([[1, 2]], [0.5, 0.4]), "sum to 1"),
        (lambda: total_variation_floor([[1, 2]], [0.2, 0.3, 0.5]), "shape"),
        (lambda: total_variation_floor([1, 2], [0.5, 0.5]), "n_labels"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        call()


@pytest.mark.parametrize("labels", [2, 3, 5, 9])
def test_many_labels_are_bounded_by_no_less_than_all_their_sets_say(labels: int) -> None:
    rng = np.random.default_rng(labels)
    for _ in range(50):
        expected, shares = rng.dirichlet(np.ones(labels), 2)
        low, high = np.clip([shares - 0.2, shares + 0.2], 0.0, 1.0)
        exact = distance_range(low, high, expected)[1]
        in_part = _largest_in_part(high - expected, expected - low)
        assert exact - 1e-12 <= in_part <= exact + 0.2


def test_the_range_of_many_labels_is_that_of_a_linear_program() -> None:
    rng = np.random.default_rng(14)
    for _ in range(20):
        expected, shares = rng.dirichlet(np.ones(14), 2)
        low, high = np.clip([shares - 0.05, shares + 0.05], 0.0, 1.0)
        up, down = high - expected, expected - low
        # The largest t with t <= sum of x up and t <= sum of (1 - x) down.
        best = optimize.linprog(
            [*np.zeros(14), -1.0],
            A_ub=[[*-up, 1.0], [*down, 1.0]],
            b_ub=[0.0, down.sum()],
            bounds=[*[(0.0, 1.0)] * 14, (None, None)],
        )
        assert distance_range(low, high, expected)[1] == pytest.approx(-best.fun, abs=1e-9)


def test_as_many_labels_as_two_crossed_attributes_have_are_no_wait() -> None:
    counts = {str(k): k % 5 for k in range(63)}
    even = dict.fromkeys(counts, 1.0 / 63)
    interval = total_variation_interval(counts, even, 0.95)
    assert 0.0 <= interval.low <= interval.estimate <= interval.high <= 1.0


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_a_distance_is_within_a_bound_where_every_set_of_labels_is(labels):
    rng = np.random.default_rng(labels)
    for _ in range(5):
        reference = rng.dirichlet(np.ones(labels))
        shown = rng.multinomial(30, rng.dirichlet(np.ones(labels)))
        counts, expected = (
            {str(k): value for k, value in enumerate(values.tolist())}
            for values in (shown, reference)
        )
        by_set = max(
            stats.binom.cdf(shown[list(chosen)].sum(), 30, reference[list(chosen)].sum() + 0.2)
            for size in range(1, labels)
            for chosen in combinations(range(labels), size)
            if reference[list(chosen)].sum() + 0.2 <= 1.0
        )
        assert total_variation_within(counts, expected, 0.2) == pytest.approx(by_set)
        high = total_variation_interval(counts, expected, 0.9).high
        if high < 1.0 - reference.max():
            assert total_variation_within(counts, expected, high) == pytest.approx(0.05, abs=1e-6)


def test_an_even_model_of_five_groups_passes_and_one_at_the_limit_does_not():
    rng, even = np.random.default_rng(0), {str(k): 0.2 for k in range(5)}

    def passes(shares):
        drawn = rng.multinomial(100, shares, 200)
        return np.mean([
            total_variation_within({str(k): int(n) for k, n in enumerate(row)}, even, 0.25) <= 0.05
            for row in drawn
        ])  # fmt: skip

    assert passes([0.2] * 5) > 0.95
    assert passes([0.45, *[0.1375] * 4]) <= 0.1
    assert passes([0.325, 0.325, *[0.35 / 3] * 3]) <= 0.1
