"""What the sections of the page say, besides its charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_t2i.data import Interval, Outcome
from pytest_t2i.reporting.charts import UNIT, Track, by_subject, worst
from pytest_t2i.reporting.formatting import (
    detector_names,
    duration,
    images_of,
    moment,
    plain,
    reason_words,
    undetected_of,
)
from pytest_t2i.runs.record import CorrectionRecord, GroupsRecord, ModelScore, RunRecord
from pytest_t2i.verdicts.check import Check

Table = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A model bias score with its chart."""

    score: ModelScore
    track: Track
    outcome: Outcome | None


def facts(record: RunRecord) -> Table:
    """What was measured, with what, when."""
    detectors = list(record.settings.get("detectors") or detector_names(record))
    images = sum(len(prompt.images) for prompt in record.prompts)
    sections = [
        ("Model", record.model),
        ("Labelled images", str(record.trials[0].images) if record.trials else ""),
        ("Detectors" if len(detectors) > 1 else "Detector", _detectors(detectors)),
        ("Images per prompt", _per_prompt(record) if images else ""),
        ("Prompts", f"{len(record.prompts)} ({images} images)" if images else ""),
        ("Date", moment(record.created)),
        ("Took", duration(record.seconds)),
    ]
    return [(name, value) for name, value in sections if value]


def _per_prompt(record: RunRecord) -> str:
    """As asked for; of ready-made pictures, as many as there were."""
    if not record.done.is_ready_made:
        return str(record.settings.get("images", "-"))
    counts = sorted(len(prompt.images) for prompt in record.prompts)
    return str(counts[-1]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"


def _detectors(names: list[str]) -> str:
    return f"{names[0]} (decides), {', '.join(names[1:])}" if len(names) > 1 else "".join(names)


def _ends(interval: Interval) -> str:
    return f"[{plain(interval.low)}, {plain(interval.high)}]"


def score_rows(record: RunRecord) -> list[ScoreRow]:
    """Model bias scores: the model first, then its axes, each by every detector."""
    checks = by_subject(record, "model_bias_score")
    first = next((score.detector for score in record.model_scores), "")
    names = list(dict.fromkeys(score.name for score in record.model_scores))
    ordered = sorted(record.model_scores, key=lambda score: names.index(score.name))
    # Limits are compared with the deciding detector's score alone.
    return [
        _score_row(
            score,
            [
                c
                for c in checks.get(score.name, ())
                if score.detector == first and is_about(c, score)
            ],
        )
        for score in ordered
    ]


def is_about(check: Check, score: ModelScore) -> bool:
    """Whether a check judged this very score; a test may be about a part of the run's prompts."""
    return (check.estimate, check.low, check.high) in [
        (known.estimate, known.low, known.high)
        for known in (score.corrected, score.paper)
        if known is not None
    ]


def _score_row(score: ModelScore, checks: Sequence[Check]) -> ScoreRow:
    floor = None if score.floor is None else UNIT.at(score.floor)
    limits = tuple(UNIT.at(check.bound) for check in checks)
    if score.corrected is None:
        return ScoreRow(score, Track("no clear image", reference=floor), worst(checks))
    known = score.corrected
    track = Track(
        label=f"model bias score {plain(known.estimate)} {_ends(known)}",
        bar=UNIT.span(0.0, known.estimate),
        whisker=(UNIT.at(known.low), UNIT.at(known.high)),
        limits=limits,
        reference=floor,
    )
    return ScoreRow(score, track, worst(checks))


def group_rows(groups: GroupsRecord) -> Table:
    """Groups with their shares, the largest first."""
    ranked = sorted(groups.shares.items(), key=lambda pair: -pair[1].estimate)
    return [(name, _whole(interval)) for name, interval in ranked]


class CellLine(NamedTuple):
    """One concept of the first axis."""

    name: str
    shares: list[Interval | None]
    """By the second axis; None without a clear image or a prompt."""


class CellTable(NamedTuple):
    """Crossed prompts as a table."""

    rows: str
    columns: str
    names: list[str]
    lines: list[CellLine]


def cell_tables(record: RunRecord) -> list[CellTable]:
    """Share of men, first axis down, second across."""
    tables = []
    for cells in record.cells:
        known = {(cell.row, cell.column): cell.share for cell in cells.cells}
        names = list(dict.fromkeys(cell.column for cell in cells.cells))
        rows = dict.fromkeys(cell.row for cell in cells.cells)
        lines = [CellLine(row, [known.get((row, name)) for name in names]) for row in rows]
        tables.append(CellTable(cells.rows, cells.columns, names, lines))
    return tables


@dataclass(frozen=True, slots=True)
class CorrectionSection:
    """A score before and after people's labels."""

    record: CorrectionRecord
    rows: Table


def correction(record: RunRecord) -> CorrectionSection | None:
    """What people's labels change; None without any."""
    correction = record.correction
    if correction is None:
        return None
    rows = [
        ("the detector alone", plain(correction.by_detector)),
        ("people, estimated from their labels (PPI++)", _whole(correction.corrected)),
    ]
    judged = next((c for c in record.checks if c.method.endswith("ppi++")), None)
    if judged is not None and judged.estimate is not None:
        score = f"{plain(judged.estimate)} [{plain(judged.low)}, {plain(judged.high)}]"
        rows.append(("what the verdict judges: by people, and corrected for few images", score))
    if correction.adjusted is not None:
        # Its interval knows nothing of the images drawn, and covers a fair model's score never.
        estimate = plain(correction.adjusted.estimate)
        rows.append(("second opinion: adjusted count (Rogan-Gladen), no interval", estimate))
    if correction.labels_to_halve:
        rows.append(("labels more that would halve the interval", str(correction.labels_to_halve)))
    if correction.left_out:
        rows.append(("prompts left out for want of labels", str(correction.left_out)))
    return CorrectionSection(correction, rows)


def group_correction_rows(record: RunRecord) -> list[tuple[str, str, str]]:
    """Group, its share by the detector, its share by people."""
    correction = record.group_correction
    if correction is None:
        return []
    return [
        (name, "\u2013" if (own := correction.by_detector[name]) is None else plain(own), _whole(s))
        for name, s in correction.corrected.items()
    ]


def _whole(interval: Interval) -> str:
    return f"{plain(interval.estimate)} {_ends(interval)}"


def undetected_table(record: RunRecord) -> list[tuple[str, dict[str, int], int]]:
    """Per detector: images without a label by reason, and images in all."""
    rows = []
    for name in detector_names(record):
        reasons = sorted(undetected_of(record, name).items())
        words = {reason_words(reason): count for reason, count in reasons}
        rows.append((name, words, images_of(record)))
    return rows if any(reasons for _, reasons, _ in rows) else []


def flattened(values: Mapping[str, Any], prefix: str = "") -> Table:
    """Nested settings as one table of dotted names."""
    rows: Table = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            rows += flattened(value, f"{name}.")
        elif isinstance(value, list | tuple):
            rows.append((name, ", ".join(map(str, value)) or "-"))
        else:
            rows.append((name, "-" if value is None else str(value)))
    return rows
