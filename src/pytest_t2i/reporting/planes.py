"""The plane of stereotype score and variety (OASIS Fig. 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pytest_t2i.data import Interval
from pytest_t2i.reporting.charts import UNIT, Scale
from pytest_t2i.reporting.formatting import interval_words
from pytest_t2i.runs.comparison.record import ModelComparison
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.sections import round_end

REACHES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Upper ends of the axis of variety."""
MARKS = "●■▲◆▼★"
"""Signs of models in a plane."""
WIDTH, HEIGHT = 320, 260
"""Of a plane in pixels; the width is that of a narrow one."""
LETTER, ABOVE, BELOW = 6.6, 10, 3
"""Of a name in pixels: width of a letter, height over its line, depth under it."""


class Place(NamedTuple):
    """Where a name stands, from its point."""

    dx: int
    dy: int
    anchor: str
    """"start" for a name on the right, "end" for one on the left."""


PLACES = (Place(7, -5, "start"), Place(-7, -5, "end"), Place(7, 13, "start"), Place(-7, 13, "end"))
"""The best first."""


class Box(NamedTuple):
    """Pixels that are taken."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether both share a pixel."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


CORNER = Box(0.99 * WIDTH - 12 * LETTER, 0.98 * HEIGHT - ABOVE, WIDTH, HEIGHT)
"""Where *good corner* stands."""


@dataclass(frozen=True, slots=True)
class Point:
    """One attribute of one concept in the plane; positions in percent, from the upper left."""

    name: str
    label: str
    """The same in words."""
    x: float
    y: float
    across: tuple[float, float]
    """Interval of the variety."""
    along: tuple[float, float]
    """Interval of the stereotype score."""
    mark: str = ""
    """Sign of its model, where there are several."""
    place: Place | None = None
    """Of the name beside it; None where it would lie on another one."""


@dataclass(frozen=True, slots=True)
class Plane:
    """Stereotype score against variety (OASIS Fig. 5)."""

    concept: str
    points: tuple[Point, ...]
    reach: float
    """Of the axis of variety."""


def _varieties(record: RunRecord) -> Sequence[Any]:
    return getattr(record.part("variety"), "variety", ())


def _scale(varieties: Iterable[Interval | None]) -> Scale:
    return Scale(0.0, round_end(varieties, REACHES))


def planes(record: RunRecord) -> list[Plane]:
    """One for each concept with both scores of an attribute; direction from texts, not centred."""
    scores = {(s.concept, s.attribute): s.score for s in record.stereotypes}
    scale = _scale(variety.wals for variety in _varieties(record))
    points: dict[str, list[Point]] = {}
    for variety in _varieties(record):
        score = scores.get((variety.concept, variety.attribute))
        if (variety.direction, variety.center) == ("text", False) and variety.wals and score:
            points.setdefault(variety.concept, []).append(
                _point(variety.attribute, score, variety.wals, scale)
            )
    return [
        Plane(concept, _named(of_concept), scale.high) for concept, of_concept in points.items()
    ]


def compared_planes(comparison: ModelComparison) -> list[Plane]:
    """The same of several models: one point for each attribute and model."""
    scale = _scale(variety for entrant in comparison.varieties for variety in entrant.varieties)
    points: dict[str, list[Point]] = {}
    for entrant in comparison.varieties:
        for model, mark, score, variety in zip(
            comparison.models, marks(comparison), entrant.scores, entrant.varieties, strict=True
        ):
            if score and variety:
                point = _point(entrant.attribute, score, variety, scale)
                named = replace(point, label=f"{model}, {point.label}", mark=mark)
                points.setdefault(entrant.concept, []).append(named)
    return [
        Plane(concept, _named(of_concept), scale.high) for concept, of_concept in points.items()
    ]


def marks(comparison: ModelComparison) -> list[str]:
    """A sign for each model; beyond the signs that there are, its number."""
    count = len(comparison.models)
    return [*MARKS, *(f"({number})" for number in range(len(MARKS) + 1, count + 1))][:count]


def _point(name: str, score: Interval, variety: Interval, scale: Scale) -> Point:
    """Upwards is a higher stereotype score; the page counts from above."""
    return Point(
        name,
        f"{name}: stereotype score {interval_words(score)}, variety {interval_words(variety, 3)}",
        scale.at(variety.estimate),
        100.0 - UNIT.at(score.estimate),
        (scale.at(variety.low), scale.at(variety.high)),
        (100.0 - UNIT.at(score.high), 100.0 - UNIT.at(score.low)),
    )


def _named(points: Sequence[Point]) -> tuple[Point, ...]:
    """The points with their names where there is room, those of high scores first."""
    taken = [CORNER, *map(_mark_of, points)]
    placed: dict[int, Place | None] = {}
    for number in sorted(range(len(points)), key=lambda k: points[k].y):
        point = points[number]
        others = [box for box in taken if box != _mark_of(point)]
        free = (place for place in PLACES if _is_free(_name_of(point, place), others))
        placed[number] = place = next(free, None)
        if place:
            taken.append(_name_of(point, place))
    return tuple(replace(point, place=placed[k]) for k, point in enumerate(points))


def _mark_of(point: Point) -> Box:
    x, y = point.x / 100 * WIDTH, point.y / 100 * HEIGHT
    return Box(x - 4, y - 4, x + 4, y + 4)


def _name_of(point: Point, place: Place) -> Box:
    x, y = point.x / 100 * WIDTH + place.dx, point.y / 100 * HEIGHT + place.dy
    width = LETTER * len(point.name)
    left = x if place.anchor == "start" else x - width
    return Box(left, y - ABOVE, left + width, y + BELOW)


def _is_free(name: Box, taken: Sequence[Box]) -> bool:
    inside = name.left >= 0 and name.right <= WIDTH and name.top >= 0 and name.bottom <= HEIGHT
    return inside and not any(name.meets(box) for box in taken)
