"""The drawing of planes of points: the position of each point and of its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pytest_t2i.reporting.charts import Scale
from pytest_t2i.reporting.formatting import plain_interval
from pytest_t2i.reporting.html_dispatch import Drawn, draw
from pytest_t2i.sections import Plane, Point

WIDTH, HEIGHT = 320, 260
"""Width and height of a plane in pixels; the width is that of a narrow one."""
LETTER, ABOVE, BELOW = 6.6, 10, 3
"""Size of a name in pixels: width of a letter, height above its line, depth below it."""
GOOD = "good corner"


class Place(NamedTuple):
    """The position of a name relative to its point, in pixels."""

    dx: int
    dy: int
    anchor: str
    """SVG text anchor: "start" for a name on the right, "end" for one on the left."""


PLACES = (Place(7, -5, "start"), Place(-7, -5, "end"), Place(7, 13, "start"), Place(-7, 13, "end"))
"""Possible positions, the best first."""


class Box(NamedTuple):
    """A rectangle of pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether both rectangles overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


class Corner(NamedTuple):
    """The good corner, in percent: upper left of its ground (left, top), its name (x, y)."""

    left: int
    top: int
    x: int
    y: int
    anchor: str

    @property
    def box(self) -> Box:
        """The pixels of the corner's name."""
        x, y = self.x / 100 * WIDTH, self.y / 100 * HEIGHT
        width = LETTER * (len(GOOD) + 1)
        return _line(x, y, width, self.anchor)


@dataclass(frozen=True, slots=True)
class DrawnPoint:
    """One point; positions in percent, from the upper left."""

    name: str
    label: str
    """Text alternative for screen readers."""
    x: float
    y: float
    across: tuple[float, float]
    """Interval of x, from left to right."""
    along: tuple[float, float]
    """Interval of y, from top to bottom."""
    sign: str = ""
    place: Place | None = None
    """Position of the name beside the point; None where it would overlap another name."""


class DrawnPlane(NamedTuple):
    """A plane for the template."""

    plane: Plane
    points: Sequence[DrawnPoint]
    corner: Corner | None


@draw.register
def _(block: Plane, folder: Path) -> Drawn:  # noqa: ARG001 - as for all blocks
    corner = _corner(block)
    points = named([_point(point, block) for point in block.points], corner)
    return Drawn("plane", DrawnPlane(block, points, corner), block.level == "detail", block.title)


def _corner(plane: Plane) -> Corner | None:
    if not plane.x.better or not plane.y.better:
        return None
    on_right, below = plane.x.better == "high", plane.y.better == "low"
    across = (67, 99, "end") if on_right else (0, 1, "start")
    down = (67, 98) if below else (0, 5)
    return Corner(across[0], down[0], across[1], down[1], across[2])


def _point(point: Point, plane: Plane) -> DrawnPoint:
    # SVG counts y from the top.
    x, y = (Scale(axis.low, axis.high) for axis in (plane.x, plane.y))
    values = (
        f"{axis.name} {plain_interval(value, axis.digits)}"
        for axis, value in ((plane.y, point.y), (plane.x, point.x))
    )
    return DrawnPoint(
        point.name,
        f"{point.series}{', ' * bool(point.series)}{point.name}: {', '.join(values)}",
        x.at(point.x.estimate),
        100.0 - y.at(point.y.estimate),
        (x.at(point.x.low), x.at(point.x.high)),
        (100.0 - y.at(point.y.high), 100.0 - y.at(point.y.low)),
        point.sign,
    )


def named(points: Sequence[DrawnPoint], corner: Corner | None) -> tuple[DrawnPoint, ...]:
    """Give each point's name a place without overlap, where there is one, from top to bottom."""
    taken = [*([corner.box] if corner else []), *map(mark_of, points)]
    placed: dict[int, Place | None] = {}
    for number in sorted(range(len(points)), key=lambda k: points[k].y):
        point = points[number]
        others = [box for box in taken if box != mark_of(point)]
        free = (place for place in PLACES if _is_free(name_of(point, place), others))
        placed[number] = place = next(free, None)
        if place:
            taken.append(name_of(point, place))
    return tuple(replace(point, place=placed[k]) for k, point in enumerate(points))


def mark_of(point: DrawnPoint) -> Box:
    """Return the pixels of a point's dot or sign."""
    x, y = point.x / 100 * WIDTH, point.y / 100 * HEIGHT
    return Box(x - 4, y - 4, x + 4, y + 4)


def name_of(point: DrawnPoint, place: Place) -> Box:
    """Return the pixels of a point's name at this place."""
    x, y = point.x / 100 * WIDTH + place.dx, point.y / 100 * HEIGHT + place.dy
    return _line(x, y, LETTER * len(point.name), place.anchor)


def _line(x: float, y: float, width: float, anchor: str) -> Box:
    left = x if anchor == "start" else x - width
    return Box(left, y - ABOVE, left + width, y + BELOW)


def _is_free(name: Box, taken: Sequence[Box]) -> bool:
    inside = name.left >= 0 and name.right <= WIDTH and name.top >= 0 and name.bottom <= HEIGHT
    return inside and not any(name.meets(box) for box in taken)
