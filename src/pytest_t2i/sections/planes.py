"""Planes of points with intervals in both directions: frozen data without rendering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from pytest_t2i.data import Interval

Better = Literal["", "low", "high"]
"""The good end of an axis; "" for neither."""


class Axis(NamedTuple):
    """One axis of a plane.

    >>> Axis("WALS", 0.0, 0.2, better="high").digits
    3
    """

    name: str
    low: float
    high: float
    digits: int = 3
    """Decimal places of numbers."""
    better: Better = ""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a plane.

    >>> some = Interval(0.2, 0.1, 0.3, 0.95, "", 20)
    >>> Point("beard", some, some, "sdxl", "A").series
    'sdxl'
    """

    name: str
    x: Interval
    y: Interval
    series: str = ""
    """Series of the point, such as a model, if the plane shows several."""
    sign: str = ""
    """Letter drawn instead of a dot, to distinguish series."""


@dataclass(frozen=True, slots=True)
class Plane:
    """A plane of points, each with intervals in both directions.

    If both axes have a better end, their common corner is marked as the good one.

    >>> Plane("Iranian", Axis("WALS", 0.0, 1.0), Axis("score", 0.0, 1.0), ()).level
    'body'
    """

    title: str
    x: Axis
    y: Axis
    points: tuple[Point, ...]
    level: Literal["summary", "body", "detail"] = "body"

    def __post_init__(self) -> None:
        for axis in (self.x, self.y):
            if not axis.low < axis.high:
                raise ValueError(f"plane {self.title!r}: expected low < high, got {axis!r}")
