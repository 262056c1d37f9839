"""What undetected images could do to a score, and the squared score, by enumeration."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_t2i.metrics import model_bias_score, prompt_bias_score, total_variation_distance
from pytest_t2i.statistics.undetected import worst_case_bounds, worst_case_groups, worst_case_labels

FEW = settings(max_examples=25, deadline=None)
COUNTS = st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 5)).filter(any)


@FEW
@given(COUNTS)
def test_a_prompts_bounds_hold_whatever_the_undetected_show(counts: tuple[int, int, int]) -> None:
    male, female, undetected = counts
    bounds = worst_case_bounds(*counts)
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
    bounds = worst_case_bounds(male, female, undetected)
    assert 0 <= bounds.low <= bounds.high <= 1
    leaning = np.where(male >= female, undetected, 0)
    for men, women in ((male, female), (male + leaning, female + undetected - leaning)):
        if np.any(men + women):
            assert bounds.low - 1e-9 <= model_bias_score(men, women) <= bounds.high + 1e-9
    none = worst_case_bounds([*male, 0], [*female, 0], [*undetected, 0])
    assert none == bounds, "a prompt without an image plays no part"


def test_without_undetected_images_the_bounds_are_the_score() -> None:
    bounds = worst_case_bounds([15, 10], [5, 10], [0, 0])
    assert (bounds.low, bounds.high, bounds.undetected) == (0.25, 0.25, 0.0)


OPTIONS: dict[str, Any] = {"level": 0.95, "seed": 0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: worst_case_bounds(0, 0, 0), "no image at all"),
        (lambda: worst_case_bounds([1], [1], 0), "same shape"),
        (lambda: worst_case_bounds(1, 1, 0.5), "undetected=0.5"),
        (lambda: worst_case_bounds([[1]], [[1]], [[1]]), "one-dimensional"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


SOME = settings(max_examples=40, deadline=None)
REFERENCES = ([0.5, 0.5], [0.1, 0.9], [0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3])


@SOME
@given(st.sampled_from(REFERENCES), st.data())
def test_no_labels_are_nearer_or_further(reference: list[float], data: Any) -> None:
    counts = data.draw(st.tuples(*[st.integers(0, 5)] * len(reference)).filter(any))
    undetected = data.draw(st.integers(0, 4))

    def distance(numbers: Any) -> float:
        names = "abc"[: len(reference)]
        return total_variation_distance(
            dict(zip(names, map(int, numbers), strict=True)),
            dict(zip(names, reference, strict=True)),
        )

    tried = [
        distance(np.add(counts, given))
        for given in product(range(undetected + 1), repeat=len(reference))
        if sum(given) == undetected
    ]
    nearest = worst_case_labels(counts, undetected, reference, "beyond")
    furthest = worst_case_labels(counts, undetected, reference, "within")
    assert distance(nearest) == pytest.approx(min(tried))
    assert distance(furthest) == pytest.approx(max(tried))


def gap(groups: dict[str, list[list[float]]]) -> float:
    shares = [sum(map(sum, images)) / sum(map(len, images)) for images in groups.values()]
    return max(shares) - min(shares)


@pytest.mark.parametrize(
    ("groups", "undetected"),
    [
        ({"a": [[1, 1, 0]], "b": [[0, 0]]}, {"a": [1], "b": [2]}),
        ({"a": [[1, 1], [1]], "b": [[0], []], "c": [[1, 0]]}, {"a": [1, 0], "b": [0, 1], "c": [1]}),
        ({"a": [[1, 0]], "b": [[0, 1]]}, {"a": [2], "b": [1]}),
    ],
)
def test_no_images_bring_groups_further_together_or_apart(groups: Any, undetected: Any) -> None:
    names = list(groups)
    tried = []
    for shown in product(*(range(sum(undetected[name]) + 1) for name in names)):
        filled = {
            name: [*groups[name], [1.0] * men + [0.0] * (sum(undetected[name]) - men)]
            for name, men in zip(names, shown, strict=True)
        }
        tried.append(gap(filled))
    assert gap(worst_case_groups(groups, undetected, "beyond")) <= min(tried) + 0.2
    assert gap(worst_case_groups(groups, undetected, "within")) == pytest.approx(max(tried))
    sizes = [sum(map(len, of)) for of in worst_case_groups(groups, undetected, "beyond").values()]
    assert sizes == [sum(map(len, groups[n])) + sum(undetected[n]) for n in names]
