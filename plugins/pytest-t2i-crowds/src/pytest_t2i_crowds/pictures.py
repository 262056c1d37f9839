"""What people in pictures weigh: the picture is the unit, and unclear people are unknown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from pytest_t2i import Bounds, Evidence, Interval, MetricInfo

from pytest_t2i_crowds.clusters import cluster_share_interval, cluster_share_p_value
from pytest_t2i_crowds.metrics import MOST_PEOPLE, SEVERAL
from pytest_t2i_crowds.quantities import METRICS, SINGLE_GENDER_SHARE
from pytest_t2i_crowds.shown import FEMALE, MALE, ShownCrowd

INFO = {metric.name: metric for metric in METRICS}

Weighed = tuple[float, float]
"""Sum of the values of a picture's members, and their number."""


class PictureWeights(NamedTuple):
    """One picture: what its members with a label sum up to, and what all of them could."""

    known: Weighed
    lowest: Weighed
    highest: Weighed


def _of_people(
    picture: ShownCrowd, fullest: float, sign: Callable[[str], float], low: float
) -> PictureWeights:
    """Return the people of a picture by the value of their label.

    A picture of which nothing is known may show as many people as the fullest of its prompt.
    """
    people = picture.people
    if people is None or not people.number:
        return PictureWeights((0.0, 0.0), (low * fullest, fullest), (fullest, fullest))
    total = math.fsum(sign(label) * count for label, count in people.groups.items())

    def scaled(value: float, size: float) -> Weighed:
        factor = min(1.0, MOST_PEOPLE / size) if size else 1.0
        return value * factor, size * factor

    return PictureWeights(
        scaled(total, people.labelled),
        scaled(total + low * people.unclear, people.number),
        scaled(total + people.unclear, people.number),
    )


def _of_pictures(picture: ShownCrowd, fullest: float) -> PictureWeights:
    """Return the gap within a picture, which weighs as any other."""
    del fullest
    return PictureWeights(*map(_mean, _of_people(picture, 1.0, _sign, -1.0)))


def _mean(weighed: Weighed) -> Weighed:
    total, size = weighed
    return (total / size, 1.0) if size else weighed


def _sign(label: str) -> float:
    return {MALE: 1.0, FEMALE: -1.0}.get(label, 0.0)


def _of_front(picture: ShownCrowd, fullest: float) -> PictureWeights:
    """Return who is in front: 1 for a man, -1 for a woman."""
    del fullest
    sign = None if picture.front is None else _sign(picture.front)
    if sign:
        return PictureWeights(*[(sign, 1.0)] * 3)
    # Somebody in front with another label is neither, and counts as no picture.
    if picture.front is not None:
        return PictureWeights(*[(0.0, 0.0)] * 3)
    return PictureWeights((0.0, 0.0), (-1.0, 1.0), (1.0, 1.0))


def _of_single(picture: ShownCrowd, fullest: float) -> PictureWeights:
    """Return whether a picture of several people shows one gender alone."""
    del fullest
    people = picture.people
    if people is None or not people.number:
        return PictureWeights((0.0, 0.0), (0.0, 1.0), (1.0, 1.0))
    if people.number < SEVERAL:
        return PictureWeights(*[(0.0, 0.0)] * 3)
    shown = sum(count > 0 for count in people.groups.values())
    is_known = people.labelled >= SEVERAL
    known = (float(shown == 1), 1.0) if is_known else (0.0, 0.0)
    if shown > 1 or not people.unclear:
        return PictureWeights(known, known, known)
    return PictureWeights(known, (0.0, 1.0), (1.0, 1.0))


class Quantity(NamedTuple):
    """One metric as the share of what members of pictures are worth."""

    weigh: Callable[[ShownCrowd, float], PictureWeights]
    low: float
    """Smallest value of a member."""
    most: float
    """Largest weight of a picture."""


QUANTITIES: Mapping[str, Quantity] = MappingProxyType({
    "crowd_share_gap": Quantity(
        lambda picture, fullest: _of_people(picture, fullest, _sign, -1.0), -1.0, MOST_PEOPLE
    ),
    "picture_share_gap": Quantity(_of_pictures, -1.0, 1.0),
    "front_share_gap": Quantity(_of_front, -1.0, 1.0),
    "single_gender_share": Quantity(_of_single, 0.0, 1.0),
})  # fmt: skip
"""Metric -> how pictures weigh."""


def share_of(label: str) -> Quantity:
    def weigh(picture: ShownCrowd, fullest: float) -> PictureWeights:
        return _of_people(picture, fullest, lambda group: float(group == label), 0.0)

    return Quantity(weigh, 0.0, MOST_PEOPLE)


def _fullest_of(pictures: Sequence[ShownCrowd]) -> float:
    """Return the number of people of the fullest picture, at least 1 and at most eight."""
    numbers = [picture.people.number for picture in pictures if picture.people]
    return float(min(max(numbers, default=1) or 1, MOST_PEOPLE))


@dataclass(frozen=True, eq=False)
class CrowdPictures:
    """The pictures of several prompts for one quantity; unknown people may be anybody."""

    prompts: Sequence[Sequence[ShownCrowd]]
    quantity: Quantity
    metric: MetricInfo
    alike: float = 0.0
    """Share of people without a label up to which they are taken to be like the others."""

    @cached_property
    def _weights(self) -> list[np.ndarray]:
        """Weights of each prompt, [pictures, known or lowest or highest, value and size]."""
        return [
            np.array([self.quantity.weigh(picture, _fullest_of(row)) for picture in row], float)
            .reshape(-1, 3, 2)
            for row in self.prompts
        ]  # fmt: skip

    @property
    def weighed(self) -> list[np.ndarray]:
        """Value and size of each picture by its people with a label, of each prompt."""
        return [row[:, 0] for row in self._weights]

    def _units(self, which: int) -> np.ndarray:
        rows = [row[:, which] for row in self._weights if len(row)]
        return np.concatenate(rows) if rows else np.zeros((0, 2))

    @cached_property
    def unknown(self) -> float:
        lowest, highest = self._units(1), self._units(2)
        full = float(highest[:, 1].sum())
        reach = float(highest[:, 0].sum() - lowest[:, 0].sum())
        return reach / (1.0 - self.quantity.low) / full if full else 0.0

    @property
    def has_values(self) -> bool:
        return bool(self._units(0)[:, 1].sum() > 0.0)

    def interval(self, level: float) -> Interval | None:
        """Return the interval among people with a label; None without any."""
        return self._interval(0, level) if self.has_values else None

    def _interval(self, which: int, level: float) -> Interval:
        values, sizes = self._units(which).T
        most, low = self.quantity.most, self.quantity.low
        return cluster_share_interval(values, sizes, level=level, most=most, low=low)

    def estimate(self, which: int) -> float:
        """Return the estimate of the known, lowest or highest values."""
        values, sizes = self._units(which).T
        return math.fsum(values) / math.fsum(sizes)

    def signed_p_values(self, which: int, bound: float) -> tuple[float, float]:
        values, sizes = self._units(which).T
        p_value = partial(
            cluster_share_p_value, values, sizes, bound,
            most=self.quantity.most, low=self.quantity.low,
        )  # fmt: skip
        return p_value(), p_value(alternative="less")

    def p_values(self, which: int, bound: float) -> tuple[float, float]:
        greater, less = self.signed_p_values(which, bound)
        if self.metric.worse != "away_from_zero":
            return greater, less
        greater_than_mirror, less_than_mirror = self.signed_p_values(which, -bound)
        # As far on the other side by chance counts, too.
        sides = (
            (greater, greater_than_mirror)
            if self.estimate(which) >= 0.0
            else (less, less_than_mirror)
        )
        return min(1.0, sum(sides)), max(less, greater_than_mirror)

    def evidence(self, bound: float, level: float) -> Evidence:
        """Return the evidence that holds whoever the people without a label are."""
        del level
        alone = self.p_values(0, bound)
        if self.unknown <= self.alike:
            return Evidence(*alone)
        beyond, within = map(max, zip(*(self.p_values(which, bound) for which in (1, 2))))  # noqa: B905
        is_signed = self.metric.worse == "away_from_zero"
        if is_signed and self.estimate(1) < 0.0 < self.estimate(2):
            beyond = 1.0
        return Evidence(beyond, within, labelled=alone)

    @property
    def worst_case(self) -> Bounds | None:
        """Bounds of the estimate whoever the people without a label are; None without any."""
        if not self.unknown or not self.has_values:
            return None
        return Bounds(self.estimate(1), self.estimate(2), self.unknown)


def crowd_pictures(members: Sequence[Any], metric: str, alike: float) -> CrowdPictures:
    rows = [member.pictures for member in members]
    return CrowdPictures(rows, QUANTITIES[metric], INFO[metric], alike)


def group_interval(members: Sequence[Any], label: str, level: float) -> Interval | None:
    """Return the share of one label among people with a label; None without any."""
    rows = [member.pictures for member in members]
    return CrowdPictures(rows, share_of(label), SINGLE_GENDER_SHARE).interval(level)
