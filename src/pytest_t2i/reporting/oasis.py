"""Charts of variety: WALS along attributes (OASIS Fig. 4), and the Vendi score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pytest_t2i.data import Interval
from pytest_t2i.reporting.charts import Group, Row, Scale, Track, by_subject, worst
from pytest_t2i.reporting.formatting import interval_words
from pytest_t2i.runs.record import DiversityRecord, RunRecord, VarietyRecord
from pytest_t2i.verdicts.check import Check

REACHES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Upper ends of a scale of WALS."""
SOURCES = {
    "text": "direction from the descriptions",
    "images": "direction from images of the descriptions",
    "kernel": "direction from images of the descriptions, by a kernel",
}


def variety_groups(record: RunRecord) -> list[Group]:
    """WALS by concept, and by where the direction comes from (OASIS Fig. 4)."""
    scale = variety_scale(record)
    checks = by_subject(record, "wals")
    groups: dict[tuple[str, str], list[Row]] = {}
    for variety in record.variety:
        row = _row(variety, scale, tuple(checks.get(variety.id, ())))
        source, _, kernel = variety.direction.partition(":")
        note = f"{SOURCES[source]}{f' ({kernel})' * bool(kernel)}{', centred' * variety.center}"
        groups.setdefault((variety.concept, note), []).append(row)
    return [
        Group(concept, tuple(rows), note, "0", f"{scale.high:g}")
        for (concept, note), rows in groups.items()
    ]


def diversity_group(record: RunRecord) -> Group | None:
    """Vendi score by prompt; None where it was not observed."""
    if not record.diversity:
        return None
    known = [d.vendi_score for d in record.diversity if d.vendi_score]
    scale = Scale(0.0, math.ceil(max((interval.high for interval in known), default=1.0)))
    checks = by_subject(record, "vendi_score")
    rows = [_diversity_row(d, scale, checks.get(d.prompt, ())) for d in record.diversity]
    return Group("Vendi score", tuple(rows), "", "0", f"{scale.high:g}")


def _diversity_row(diversity: DiversityRecord, scale: Scale, checks: Sequence[Check]) -> Row:
    known = diversity.vendi_score
    if known is None:
        absent = diversity.absent
        return Row(diversity.concept, Track(absent), "no interval", absent, worst(checks))
    words = f"{known.estimate:.1f} [{known.low:.1f}, {known.high:.1f}]"
    track = Track(
        label=f"as different as {words} images that have nothing in common",
        bar=scale.span(0.0, known.estimate),
        whisker=(scale.at(known.low), scale.at(known.high)),
        limits=tuple(scale.at(check.bound) for check in checks),
    )
    note = f"{known.n} images, by {diversity.encoder}"
    return Row(diversity.concept, track, words, note, worst(checks))


def variety_scale(record: RunRecord) -> Scale:
    """Of all that was measured."""
    return scale_of(variety.wals for variety in record.variety)


def scale_of(varieties: Iterable[Interval | None]) -> Scale:
    """From 0 to the first round number beyond these intervals."""
    most = max((interval.high for interval in varieties if interval), default=0.0)
    return Scale(0.0, next((reach for reach in REACHES if reach >= most), most))


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
