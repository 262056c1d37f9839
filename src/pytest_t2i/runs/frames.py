"""A run's record as tables: one row per check, prompt, image, and what audits tell.

Columns are documented in docs/exports.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.summary import Frame
from pytest_t2i.data import Interval
from pytest_t2i.errors import MissingExtraError, UnknownNameError

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]


def to_frame(record: Any, table: str) -> pd.DataFrame:
    """A table of a run as a pandas DataFrame.

    Args:
        record: the RunRecord of a run, as from ``read_run``.
        table: "checks", "prompts", "images", or a table of an audit, such as "scores" or "gaps".

    Returns:
        One row for each; no rows where the run has none, columns all the same.

    Raises:
        UnknownNameError: there is no such table.
        MissingExtraError: pandas is not installed.

    >>> from pytest_t2i import RunRecord
    >>> run = RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, {}, {})
    >>> to_frame(run, "prompts").columns.tolist()[:4]
    ['model', 'created', 'prompt', 'axis']
    """
    others = dict(_of_audits(record))
    if table in TABLES:
        return data_frame(_of_core(record, table))
    if table in others:
        return data_frame(_of_audit(record, others[table]))
    raise UnknownNameError("table of a run", table, {**TABLES, **others})


class PlainTable(NamedTuple):
    """A table of a run before it is a DataFrame."""

    columns: list[str]
    rows: list[Row]
    """Each by column."""


def tables(record: Any) -> Iterator[tuple[str, PlainTable]]:
    """All tables of a run with their names, those of audits among them."""
    for name in TABLES:
        yield name, _of_core(record, name)
    for name, frame in _of_audits(record):
        yield name, _of_audit(record, frame)


def data_frame(table: PlainTable) -> pd.DataFrame:
    """The table in pandas; MissingExtraError where that is not installed."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("a table of a run", "frames", "pandas") from None
    return pd.DataFrame(table.rows, columns=table.columns)


def _of_core(record: Any, name: str) -> PlainTable:
    rows, columns = TABLES[name]
    return _with_run(record, list(columns), list(rows(record)))


def _of_audit(record: Any, frame: Frame) -> PlainTable:
    return _with_run(record, *_spread(frame))


def _with_run(record: Any, columns: list[str], rows: list[Row]) -> PlainTable:
    """With the columns that say which run it is."""
    run = {"model": record.model, "created": record.created}
    return PlainTable([*run, *columns], [run | row for row in rows])


def _of_audits(record: Any) -> Iterator[tuple[str, Frame]]:
    """The tables of installed audits, without rows where the run has none."""
    for audit in installed_audits():
        part = record.part(audit.name)
        if part is None and audit.record_type is not None:
            part = _nothing(audit.record_type)
        if part is not None:
            yield from audit.summary(part).frames.items()


def _nothing(record_type: type[Any]) -> Any | None:
    """A record of nothing; None for one that cannot be empty."""
    try:
        return record_type()
    except TypeError:
        return None


def _spread(frame: Frame) -> tuple[list[str], list[Row]]:
    """An interval as three columns."""
    rows: list[Row] = []
    wide = set(frame.intervals) | {
        name
        for row in frame.rows
        for name, cell in zip(frame.columns, row, strict=True)
        if isinstance(cell, Interval)
    }
    for row in frame.rows:
        flat: Row = {}
        for name, cell in zip(frame.columns, row, strict=True):
            flat |= _interval(name, cell) if name in wide else {name: cell}  # type: ignore[arg-type]
        rows.append(flat)
    spread = (_columns(name) if name in wide else (name,) for name in frame.columns)
    return [column for columns in spread for column in columns], rows


def _interval(name: str, interval: Interval | None) -> Row:
    parts = ("estimate", "low", "high")
    values = [None if interval is None else getattr(interval, part) for part in parts]
    return dict(zip(_columns(name), values, strict=True))


def _columns(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low", f"{name}_high"


def _checks(record: Any) -> Iterator[Row]:
    for check in record.checks:
        yield {
            "test": check.test,
            "metric": check.metric,
            "subject": check.subject,
            "outcome": str(check.outcome),
            "estimate": check.estimate,
            "low": check.low,
            "high": check.high,
            "level": check.level,
            "n": check.n,
            "bound": check.bound,
            "reason": check.reason,
            "author": check.author,
            "against": check.against,
            "p_value": check.p_value,
            "lean": check.lean,
        }


def _prompts(record: Any) -> Iterator[Row]:
    for prompt in record.prompts:
        for detector, counts in prompt.counts.items():
            yield {
                "prompt": prompt.text,
                "axis": prompt.axis,
                "concept": prompt.concept,
                "variant": prompt.variant,
                "id": prompt.id,
                "detector": detector,
                "male": counts.labels.get("male", 0),
                "female": counts.labels.get("female", 0),
                "other": sum(counts.labels.values())
                - counts.labels.get("male", 0)
                - counts.labels.get("female", 0),
                "undetected": sum(counts.undetected.values()),
            } | _interval(
                "prompt_bias_score",
                prompt.prompt_bias_score if detector == next(iter(prompt.counts)) else None,
            )


def _images(record: Any) -> Iterator[Row]:
    for prompt in record.prompts:
        for image in prompt.images:
            for detector, detection in image.detections.items():
                yield {
                    "id": prompt.id,
                    "prompt": prompt.text,
                    "variant": prompt.variant,
                    "seed": image.seed,
                    "file": image.file,
                    "detector": detector,
                    "label": detection.label,
                    "undetected": None
                    if detection.undetected is None
                    else str(detection.undetected),
                }


Rows = Callable[[Any], Iterator[Row]]
COUNTED = ("male", "female", "other", "undetected")
TABLES: Mapping[str, tuple[Rows, tuple[str, ...]]] = MappingProxyType(
    {
        "checks": (
            _checks,
            (
                "test", "metric", "subject", "outcome", "estimate", "low", "high", "level", "n",
                "bound", "reason", "author", "against", "p_value", "lean",
            ),
        ),
        "prompts": (
            _prompts,
            (
                "prompt", "axis", "concept", "variant", "id", "detector", *COUNTED,
                *_columns("prompt_bias_score"),
            ),
        ),
        "images": (
            _images,
            ("id", "prompt", "variant", "seed", "file", "detector", "label", "undetected"),
        ),
    }
)  # fmt: skip
"""Table -> (its rows, its columns after model and created)."""
