"""Points in a plane, each with its intervals in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from pytest_t2i.data import Interval

Better = Literal["", "low", "high"]
"""Which end of an axis is the good one; "" for neither."""


class Axis(NamedTuple):
    """One direction of a plane.

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
    """What it is of, where a plane shows several: a model."""
    sign: str = ""
    """Drawn in the place of a dot: tells series apart."""


@dataclass(frozen=True, slots=True)
class Plane:
    """Points in a plane, each with its intervals in both directions.

    Where both axes have a better end, the corner of both is marked as the good one.

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
