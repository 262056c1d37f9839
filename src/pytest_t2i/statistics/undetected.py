"""Bounds and worst cases over all labels that undetected images may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Bounds
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.model import Whole
from pytest_t2i.statistics.shares import Beyond


def worst_case_bounds(
    male: npt.ArrayLike, female: npt.ArrayLike, undetected: npt.ArrayLike
) -> Bounds:
    """Return bounds on the score of these images over all labels of the undetected ones.

    .. math:: [(m - f - u) / (m + f + u), (m - f + u) / (m + f + u)]
       mean of [max(0, |m - f| - u) / (m + f + u), (|m - f| + u) / (m + f + u)]

    of one prompt (numbers), and of a model (arrays), for any reason (Manski 1989). They have no
    sampling error: they are about the images that were made.
    """
    men, women, unknown = _checked_counts(male, female, undetected)
    images = men + women + unknown
    if not np.any(images):
        raise ValueError("male, female and undetected hold no image at all")
    share = float(unknown.sum() / images.sum())
    if men.ndim == 0:
        gap = men - women
        return Bounds(float((gap - unknown) / images), float((gap + unknown) / images), share)
    used = images > 0
    gap, unknown, images = np.abs(men - women)[used], unknown[used], images[used]
    low = np.mean(np.maximum(gap - unknown, 0) / images)
    return Bounds(float(low), float(np.mean((gap + unknown) / images)), share)


def _checked_counts(
    male: npt.ArrayLike, female: npt.ArrayLike, undetected: npt.ArrayLike
) -> tuple[Whole, Whole, Whole]:
    """Return the counts as whole numbers; raise a ValueError where their shapes differ."""
    arrays = {"male": male, "female": female, "undetected": undetected}
    counts = {name: inputs.whole_counts(name, value) for name, value in arrays.items()}
    inputs.same_shape(**counts)
    men, women, unknown = counts.values()
    if men.ndim:
        inputs.one_dimensional(**counts)
    return men, women, unknown


Images = Sequence[Sequence[float]]
"""Images of each prompt of a group: 1 with the outcome, 0 without."""


def worst_case_labels(
    counts: npt.ArrayLike, undetected: int, expected: npt.ArrayLike, alternative: Beyond
) -> inputs.Floats:
    """Return a prompt's labels with the undetected images least favourable to an alternative.

    "beyond" gives each to the label with the largest deficit, "within" all to the one that moves
    the shares furthest from the reference.
    """
    numbers, shares = inputs.floats("counts", counts), inputs.floats("expected", expected)
    targets = shares * (numbers.sum() + undetected)
    if alternative == "within":
        candidates = numbers + undetected * np.eye(len(numbers))
        furthest: inputs.Floats = candidates[np.argmax(np.abs(candidates - targets).sum(axis=1))]
        return furthest
    nearest = numbers.copy()
    for _ in range(undetected):
        nearest[np.argmax(targets - nearest)] += 1.0
    return nearest


def worst_case_groups(
    groups: Mapping[str, Images], undetected: Mapping[str, Sequence[int]], alternative: Beyond
) -> dict[str, list[list[float]]]:
    """Return groups in which the undetected images are least favourable to an alternative.

    "beyond" moves all shares towards a common one; "within" takes the two groups that can lie
    furthest apart, and leaves the undetected images of the others out.
    """
    hits = {name: sum(map(sum, images)) for name, images in groups.items()}
    unknown = {name: sum(undetected[name]) for name in groups}
    size = {name: sum(map(len, images)) + unknown[name] for name, images in groups.items()}
    low = {name: hits[name] / max(1, size[name]) for name in groups}
    high = {name: (hits[name] + unknown[name]) / max(1, size[name]) for name in groups}
    if alternative == "beyond":
        middle = (max(low.values()) + min(high.values())) / 2.0
        targets = {name: round(middle * size[name] - hits[name]) for name in groups}
        ones = {name: int(np.clip(targets[name], 0, unknown[name])) for name in groups}
    else:
        pairs = [(high[a] - low[b], a, b) for a in groups for b in groups if a != b]
        _, most, least = max(pairs)
        ones = {most: unknown[most], least: 0}
    return {name: _filled(groups[name], undetected[name], ones.get(name)) for name in groups}


def _filled(images: Images, unknown: Sequence[int], ones: int | None) -> list[list[float]]:
    """Add the undetected images to the prompts, so many with the outcome and the rest without."""
    if ones is None:
        return [list(prompt) for prompt in images]
    rest = iter([1.0] * ones + [0.0] * (sum(unknown) - ones))
    return [
        [*prompt, *(next(rest) for _ in range(n))]
        for prompt, n in zip(images, unknown, strict=True)
    ]
