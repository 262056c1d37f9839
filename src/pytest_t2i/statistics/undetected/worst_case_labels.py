"""Worst cases of undetected images for any labels of a prompt, and for groups of prompts.

For men and women against parity see ``worst_case.worst_case_counts``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.exact import Beyond

Images = Sequence[Sequence[float]]
"""Images of each prompt of a group: 1 with the outcome, 0 without."""


def worst_case_labels(
    counts: npt.ArrayLike, undetected: int, expected: npt.ArrayLike, alternative: Beyond
) -> inputs.Floats:
    """Return a prompt's labels with the undetected images least favourable to an alternative.

    "beyond" gives each undetected image to the label with the largest deficit, which moves the
    shares as near to the reference as possible; "within" gives all of them to the one label that
    moves the shares furthest from the reference.

    Args:
        counts: number of images per label, [n_labels].
        undetected: number of images without a label.
        expected: share of each label in the reference, [n_labels].
        alternative: alternative hypothesis, "beyond" (FAIL) or "within" (PASS).

    Returns:
        Images per label, [n_labels].

    >>> worst_case_labels([18, 0], 2, [0.5, 0.5], "beyond").tolist()
    [18.0, 2.0]
    >>> worst_case_labels([18, 0], 2, [0.5, 0.5], "within").tolist()
    [20.0, 0.0]
    """
    numbers, shares = inputs.floats("counts", counts), inputs.floats("expected", expected)
    wanted = shares * (numbers.sum() + undetected)
    if alternative == "within":
        each = numbers + undetected * np.eye(len(numbers))
        furthest: inputs.Floats = each[np.argmax(np.abs(each - wanted).sum(axis=1))]
        return furthest
    nearest = numbers.copy()
    for _ in range(undetected):
        nearest[np.argmax(wanted - nearest)] += 1.0
    return nearest


def worst_case_groups(
    groups: Mapping[str, Images], undetected: Mapping[str, Sequence[int]], alternative: Beyond
) -> dict[str, list[list[float]]]:
    """Return groups in which the undetected images are least favourable to an alternative.

    "beyond" moves the shares of all groups towards one common share as far as their undetected
    images can; "within" takes the two groups that can lie furthest apart, and gives one the outcome
    in all undetected images and the other in none. The undetected images of the other groups stay
    left out.

    Args:
        groups: images of each prompt of each group, 1 with the outcome and 0 without.
        undetected: number of undetected images of each prompt of each group.
        alternative: alternative hypothesis, "beyond" (FAIL) or "within" (PASS).

    Returns:
        The groups, with labels for their undetected images.

    >>> worst_case_groups({"a": [[1, 1]], "b": [[0]]}, {"a": [0], "b": [1]}, "beyond")
    {'a': [[1, 1]], 'b': [[0, 1.0]]}
    """
    low, high = _reach(groups, undetected)
    if alternative == "beyond":
        middle = (max(low.values()) + min(high.values())) / 2.0
        given = {name: _share_to(middle, groups[name], undetected[name]) for name in groups}
    else:
        pairs = [(high[a] - low[b], a, b) for a in groups for b in groups if a != b]
        _, most, least = max(pairs)
        given = {most: sum(undetected[most]), least: 0}
    return {name: _filled(groups[name], undetected[name], given.get(name)) for name in groups}


def _reach(
    groups: Mapping[str, Images], undetected: Mapping[str, Sequence[int]]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the least and the largest share of each group over labels of its undetected images."""
    low, high = {}, {}
    for name, images in groups.items():
        shown, unknown = sum(map(sum, images)), sum(undetected[name])
        size = max(1, sum(map(len, images)) + unknown)
        low[name], high[name] = shown / size, (shown + unknown) / size
    return low, high


def _share_to(middle: float, images: Images, unknown: Sequence[int]) -> int:
    """Return how many undetected images have the outcome in the share nearest to ``middle``."""
    size = sum(map(len, images)) + sum(unknown)
    return int(np.clip(round(middle * size - sum(map(sum, images))), 0, sum(unknown)))


def _filled(images: Images, unknown: Sequence[int], given: int | None) -> list[list[float]]:
    """Add the undetected images to the prompts: ``given`` with the outcome, the rest without."""
    if given is None:
        return [list(prompt) for prompt in images]
    rest = iter([1.0] * given + [0.0] * (sum(unknown) - given))
    return [
        [*prompt, *(next(rest) for _ in range(n))]
        for prompt, n in zip(images, unknown, strict=True)
    ]
