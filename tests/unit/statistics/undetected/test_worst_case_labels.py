"""Undetected images as speaks most against a verdict, by trying all that they may show."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_t2i.metrics import total_variation_distance
from pytest_t2i.statistics.undetected.worst_case_labels import worst_case_groups, worst_case_labels

FEW = settings(max_examples=40, deadline=None)
REFERENCES = ([0.5, 0.5], [0.1, 0.9], [0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3])


@FEW
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
