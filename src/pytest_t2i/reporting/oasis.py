"""Charts of WALS: variety, and the plane of stereotype score and variety (OASIS Fig. 4 and 5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pytest_t2i.data import Interval
from pytest_t2i.reporting.charts import UNIT, Group, Row, Scale, Track, by_subject, worst
from pytest_t2i.reporting.formatting import interval_words
from pytest_t2i.runs.comparison.record import ModelComparison
from pytest_t2i.runs.record import RunRecord, VarietyRecord

REACHES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Upper ends of a scale of WALS."""
MARKS = "●■▲◆▼★"
"""Signs of models in a plane."""
SOURCES = {
    "text": "direction from the descriptions",
    "images": "direction from images of the descriptions",
    "kernel": "direction from images of the descriptions, by a kernel",
}


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


@dataclass(frozen=True, slots=True)
class Plane:
    """Stereotype score against variety (OASIS Fig. 5)."""

    concept: str
    points: tuple[Point, ...]
    reach: float
    """Of the axis of variety."""


def variety_groups(record: RunRecord) -> list[Group]:
    """WALS by concept, and by where the direction comes from (OASIS Fig. 4)."""
    scale = variety_scale(record)
    checks = by_subject(record, "wals")
    groups: dict[tuple[str, str], list[Row]] = {}
    for variety in record.variety:
        row = _row(variety, scale, tuple(checks.get(variety.id, ())))
        note = f"{SOURCES[variety.direction]}{', centred' * variety.center}"
        groups.setdefault((variety.concept, note), []).append(row)
    return [
        Group(concept, tuple(rows), note, "0", f"{scale.high:g}")
        for (concept, note), rows in groups.items()
    ]


def variety_scale(record: RunRecord) -> Scale:
    """From 0 to the first round number beyond all intervals."""
    return _scale_of(variety.wals for variety in record.variety)


def _scale_of(varieties: Iterable[Interval | None]) -> Scale:
    most = max((interval.high for interval in varieties if interval), default=0.0)
    return Scale(0.0, next(reach for reach in REACHES if reach >= most))


def _row(variety: VarietyRecord, scale: Scale, checks: tuple) -> Row:  # type: ignore[type-arg]
    if variety.wals is None:
        return Row(
            variety.attribute, Track(variety.absent), "no interval", variety.absent, worst(checks)
        )
    track = Track(
        label=f"variety {interval_words(variety.wals, 3)}",
        bar=scale.span(0.0, variety.wals.estimate),
        whisker=(scale.at(variety.wals.low), scale.at(variety.wals.high)),
        limits=tuple(scale.at(check.bound) for check in checks),
    )
    note = f"{variety.wals.n} images, by {variety.encoder}"
    return Row(variety.attribute, track, interval_words(variety.wals, 3), note, worst(checks))


def planes(record: RunRecord) -> list[Plane]:
    """One for each concept with both scores of an attribute; direction from texts, not centred."""
    scores = {(s.concept, s.attribute): s.score for s in record.stereotypes}
    scale = variety_scale(record)
    points: dict[str, list[Point]] = {}
    for variety in record.variety:
        score = scores.get((variety.concept, variety.attribute))
        if (variety.direction, variety.center) == ("text", False) and variety.wals and score:
            points.setdefault(variety.concept, []).append(
                _point(variety.attribute, score, variety.wals, scale)
            )
    return [Plane(concept, tuple(of_concept), scale.high) for concept, of_concept in points.items()]


def compared_planes(comparison: ModelComparison) -> list[Plane]:
    """The same of several models: one point for each attribute and model."""
    scale = _scale_of(variety for entrant in comparison.varieties for variety in entrant.varieties)
    points: dict[str, list[Point]] = {}
    for entrant in comparison.varieties:
        for model, mark, score, variety in zip(
            comparison.models, marks(comparison), entrant.scores, entrant.varieties, strict=True
        ):
            if score and variety:
                point = _point(entrant.attribute, score, variety, scale)
                named = replace(point, label=f"{model}, {point.label}", mark=mark)
                points.setdefault(entrant.concept, []).append(named)
    return [Plane(concept, tuple(of_concept), scale.high) for concept, of_concept in points.items()]


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
