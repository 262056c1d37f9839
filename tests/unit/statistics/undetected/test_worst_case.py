"""What undetected images could do to a score, and the squared score, by enumeration."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_t2i import statistics
from pytest_t2i.metrics import model_bias_score, prompt_bias_score

FEW = settings(max_examples=25, deadline=None)
COUNTS = st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 5)).filter(any)


@FEW
@given(COUNTS)
def test_a_prompts_bounds_hold_whatever_the_undetected_show(counts: tuple[int, int, int]) -> None:
    male, female, undetected = counts
    bounds = statistics.worst_case_bounds(*counts)
    scores = [
        prompt_bias_score(male + men, female + women)
        for men, women in product(range(undetected + 1), repeat=2)
        if male + men + female + women > 0 and men + women <= undetected
    ]
    known = [score for score in scores if score is not None]
    assert (bounds.low, bounds.high) == pytest.approx((min(known), max(known)))
    assert bounds.undetected == pytest.approx(undetected / sum(counts))


@FEW
@given(st.lists(COUNTS, min_size=1, max_size=6))
def test_a_models_bounds_hold_its_score(rows: list[tuple[int, int, int]]) -> None:
    male, female, undetected = (np.array(side) for side in zip(*rows, strict=True))
    bounds = statistics.worst_case_bounds(male, female, undetected)
    assert 0 <= bounds.low <= bounds.high <= 1
    leaning = np.where(male >= female, undetected, 0)
    for men, women in ((male, female), (male + leaning, female + undetected - leaning)):
        if np.any(men + women):
            assert bounds.low - 1e-9 <= model_bias_score(men, women) <= bounds.high + 1e-9
    none = statistics.worst_case_bounds([*male, 0], [*female, 0], [*undetected, 0])
    assert none == bounds, "a prompt without an image plays no part"


@FEW
@given(
    COUNTS,
    st.sampled_from((0.0, 0.3, 0.5, 0.9)),
    st.sampled_from(("beyond", "within")),
)
def test_no_images_the_undetected_may_show_speak_more_against_a_verdict(
    counts: tuple[int, int, int], bound: float, side: Any
) -> None:
    male, female, undetected = counts
    worst = [int(n) for n in statistics.worst_case_counts(*counts, side)]
    assert sum(worst) == sum(counts)
    shown = [
        (male + men, female + women)
        for men, women in product(range(undetected + 1), repeat=2)
        if men + women <= undetected and male + men + female + women
    ]
    p_values = [statistics.prompt_bias_p_value(*one, bound, side) for one in shown]
    assert statistics.prompt_bias_p_value(*worst, bound, side) >= max(p_values) - 1e-12


def test_counts_of_several_prompts_are_those_of_each() -> None:
    rows = ([18, 3, 0, 5], [0, 9, 0, 5], [2, 12, 7, 0])
    for side in ("beyond", "within"):
        together = statistics.worst_case_counts(*rows, side)
        for k, one in enumerate(zip(*rows, strict=True)):
            assert [int(n[k]) for n in together] == [
                int(n) for n in statistics.worst_case_counts(*one, side)
            ]


def test_without_undetected_images_the_bounds_are_the_score() -> None:
    bounds = statistics.worst_case_bounds([15, 10], [5, 10], [0, 0])
    assert (bounds.low, bounds.high, bounds.undetected) == (0.25, 0.25, 0.0)


OPTIONS: dict[str, Any] = {"level": 0.95, "seed": 0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: statistics.worst_case_bounds(0, 0, 0), "no image at all"),
        (lambda: statistics.worst_case_bounds([1], [1], 0), "same shape"),
        (lambda: statistics.worst_case_bounds(1, 1, 0.5), "undetected=0.5"),
        (lambda: statistics.worst_case_bounds([[1]], [[1]], [[1]]), "one-dimensional"),
        (lambda: statistics.worst_case_counts(1, 1, 0.5, "beyond"), "undetected=0.5"),
        (lambda: statistics.worst_case_counts([1], [1], [0, 1], "within"), "same shape"),
        (lambda: statistics.worst_case_counts(1, 1, 0, "above"), "alternative='above'"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
