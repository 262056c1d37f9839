"""Errors of a detector by group, and what they can make of a bias score.

A detector gives each of two labels wrongly at some rate. With the rates ``a`` (men labelled women)
and ``b`` (women labelled men), a prompt whose pictures show the score ``s = p_male - p_female`` is
seen at ``d = s (1 - a - b) + b - a``. So ``s = (d + a - b) / (1 - a - b)``, and for any mean of
absolute scores ``(D - |a - b|) / (1 - a - b) <= S <= (D + |a - b|) / (1 - a - b)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy.stats

from pytest_t2i.data import Interval
from pytest_t2i.statistics.families import holm
from pytest_t2i.statistics.shares import exact_ends, share_interval

MOST_ERROR = 0.999
"""Sum of both error rates from which on labels say nothing about the pictures."""


class CellErrors(NamedTuple):
    """How often a detector is wrong in one group, compared with all other groups."""

    wrong: int
    labelled: int
    """Images of the group with a label by the detector."""
    right: Interval | None
    """Share of right labels; None without a labelled image."""
    p_value: float
    """Of Fisher's exact test against all other groups, by Holm's method over the groups."""
    rest_right: float
    """Share of right labels in all other groups together."""


def abstention_p_value(abstained: int, asked: int, before: int, asked_before: int) -> float:
    """Return the p-value of Fisher's exact test that two shares of abstentions are equal.

    >>> abstention_p_value(30, 100, 30, 100) == 1.0, abstention_p_value(60, 100, 10, 100) < 0.001
    (True, True)
    """
    table = np.array([[abstained, asked - abstained], [before, asked_before - before]])
    return float(scipy.stats.fisher_exact(table).pvalue)


def differential_errors(
    splits: Sequence[Mapping[str, tuple[int, int]]], level: float
) -> dict[str, CellErrors]:
    """Compare a detector's errors between groups.

    Each group is compared with all others of its split together, by Fisher's exact test on both
    sides. Holm's method keeps one error level for the groups of all splits.

    ``splits`` holds, for each split of the images, group -> (wrong labels, labelled images).

    >>> errors = differential_errors([{"young": (11, 72), "old": (5, 170)}], 0.95)
    >>> errors["young"].p_value < 0.05, round(errors["young"].right.estimate, 2)
    (True, 0.85)
    """
    cells = [(split, group) for split in splits for group in split]
    rests = [
        tuple(sum(cell[k] for other, cell in split.items() if other != group) for k in (0, 1))
        for split, group in cells
    ]
    raw = [
        scipy.stats.fisher_exact(
            np.array([[wrong, n - wrong], [rest_wrong, rest_n - rest_wrong]])
        ).pvalue
        for (wrong, n), (rest_wrong, rest_n) in zip(
            (split[group] for split, group in cells), rests, strict=True
        )
    ]
    adjusted = holm(np.minimum(raw, 1.0))
    return {
        group: CellErrors(
            *split[group],
            share_interval(split[group][1] - split[group][0], split[group][1], level)
            if split[group][1]
            else None,
            float(p_value),
            1.0 - rest_wrong / rest_n if rest_n else 1.0,
        )
        for (split, group), p_value, (rest_wrong, rest_n) in zip(
            cells, adjusted, rests, strict=True
        )
    }


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """The range of both error rates of a detector of two labels.

    >>> ErrorRates((0.0, 0.1), (0.0, 0.1)).moved(0.4, 0.6)
    (0.33333333333333337, 0.7777777777777777)
    """

    male: tuple[float, float]
    """Least and largest share of men that are labelled women."""
    female: tuple[float, float]
    """Least and largest share of women that are labelled men."""

    @property
    def corners(self) -> list[tuple[float, float]]:
        """The pairs of ends of both rates."""
        return list(product(self.male, self.female))

    @property
    def say_nothing(self) -> bool:
        """Whether labels may be as wrong as chance, so that any score is possible."""
        return self.male[1] + self.female[1] >= MOST_ERROR

    def moved(self, low: float, high: float) -> tuple[float, float]:
        """Return the range of a true absolute score, where the labels show ``low`` to ``high``."""
        if self.say_nothing:
            return 0.0, 1.0
        lows = [(low - abs(a - b)) / (1.0 - a - b) for a, b in self.corners]
        highs = [(high + abs(a - b)) / (1.0 - a - b) for a, b in self.corners]
        return min(1.0, max(0.0, min(lows))), min(1.0, max(0.0, *highs))

    def bounds_on_labels(self, bound: float) -> tuple[float, float]:
        """Return the absolute scores of labels between which a bound may lie.

        Labels whose score is at most the first are of pictures within the bound, and labels whose
        score exceeds the second are of pictures beyond it, at any rates of the range.
        """
        within = min(bound * (1.0 - a - b) - abs(a - b) for a, b in self.corners)
        beyond = max(bound * (1.0 - a - b) + abs(a - b) for a, b in self.corners)
        return within, beyond


def rate_ranges(
    counts: Mapping[str, tuple[int, int]], level: float, cells: int
) -> dict[str, tuple[float, float]]:
    """Return the exact range of the error rate of each group; all ``cells`` hold together.

    ``counts`` holds group -> (wrong labels, labelled images). A group without an image has any
    rate.

    >>> rate_ranges({"young": (0, 0), "old": (1, 100)}, 0.95, cells=4)["young"]
    (0.0, 1.0)
    """
    tail = (1.0 - level) / 2.0 / cells
    ranges = {}
    for group, (wrong, n) in counts.items():
        low, high = exact_ends(wrong, n, tail) if n else (0.0, 1.0)
        ranges[group] = (float(low), float(high))
    return ranges


def mixed(
    ranges: Mapping[str, tuple[float, float]], weights: Sequence[Mapping[str, float]]
) -> tuple[float, float]:
    """Return the range of a rate over mixtures of groups; without a mixture, over every group.

    Pictures of the group "" may be of any group.

    >>> ranges = {"young": (0.1, 0.2), "old": (0.0, 0.1)}
    >>> mixed(ranges, ()), mixed(ranges, [{"young": 0.5, "old": 0.5}])
    ((0.0, 0.2), (0.05, 0.15000000000000002))
    """
    lows = [low for low, _ in ranges.values()]
    highs = [high for _, high in ranges.values()]
    if not weights:
        return min(lows), max(highs)
    of_group = {**ranges, "": (min(lows), max(highs))}
    return (
        min(sum(share * of_group[group][0] for group, share in of.items()) for of in weights),
        max(sum(share * of_group[group][1] for group, share in of.items()) for of in weights),
    )
