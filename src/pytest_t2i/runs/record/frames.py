"""The tables of a run's record: checks, prompts, images, and the tables of audits.

Columns are documented in docs/exports.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import chosen_audits, installed_audits
from pytest_t2i.audits.summary import Frame
from pytest_t2i.data import Interval
from pytest_t2i.errors import MissingExtraError, UnknownNameError

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]


def to_frame(record: Any, table: str, audits: Any = ()) -> pd.DataFrame:
    """Return a table of a run as a pandas DataFrame; ``audits`` are some that are not installed.

    >>> from pytest_t2i import RunRecord
    >>> run = RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, {}, {})
    >>> to_frame(run, "prompts").columns.tolist()[:4]
    ['model', 'created', 'prompt', 'axis']
    """
    own = chosen_audits(audits)
    frame = next((frame for name, frame in _frames(record, own) if name == table), None)
    if frame is None:
        every = {audit.name for audit in (*installed_audits(), *own)}
        absent = [name for name in record.audits if name not in every]
        hint = (
            f"The run has records of audits that are not installed: {', '.join(absent)}. Give "
            f"their classes: to_frame({table!r}, audits=(MyAudit,))"
        )
        names = [name for name, _ in _frames(record, own)]
        raise UnknownNameError("table of a run", table, names, hint if absent else "")
    return data_frame(_with_run(record, frame))


class PlainTable(NamedTuple):
    """A table of a run before it is a DataFrame."""

    columns: list[str]
    rows: list[Row]
    """Rows, each a mapping from column to cell."""


def tables(record: Any) -> Iterator[tuple[str, PlainTable]]:
    """Yield the name and content of all tables of a run, those of audits included."""
    return ((name, _with_run(record, frame)) for name, frame in _frames(record))


def data_frame(table: PlainTable) -> pd.DataFrame:
    """Convert a table to pandas; raise MissingExtraError if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("a table of a run", "frames", "pandas") from None
    return pd.DataFrame(table.rows, columns=table.columns)


def _frames(record: Any, own: Iterable[Audit] = ()) -> Iterator[tuple[str, Frame]]:
    """Yield the tables of the core and of all audits, empty where the run has no rows."""
    for name, frame_of in TABLES.items():
        yield name, frame_of(record)
    # A run without rows of an audit has an empty table of it.
    for name in dict.fromkeys((*record.audits, *(a.name for a in (*installed_audits(), *own)))):
        yield name, record.part(name).frame()


def _with_run(record: Any, frame: Frame) -> PlainTable:
    """Add the columns "model" and "created", and turn each interval into three columns."""
    run: Row = {"model": record.model, "created": record.created}
    rows: list[Row] = []
    wide = set(frame.intervals) | {
        name
        for row in frame.rows
        for name, cell in zip(frame.columns, row, strict=True)
        if isinstance(cell, Interval)
    }
    for row in frame.rows:
        flat = dict(run)
        for name, cell in zip(frame.columns, row, strict=True):
            flat |= _interval(name, cell) if name in wide else {name: cell}  # type: ignore[arg-type]
        rows.append(flat)
    spread = (_columns(name) if name in wide else (name,) for name in frame.columns)
    return PlainTable([*run, *(column for columns in spread for column in columns)], rows)


def _interval(name: str, cell: Interval | float | None) -> Row:
    """Return the three columns of an interval; a number without one has no ends."""
    if isinstance(cell, Interval):
        values: tuple[float | None, ...] = (cell.estimate, cell.low, cell.high)
    else:
        values = (cell, None, None)
    return dict(zip(_columns(name), values, strict=True))


def _columns(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low", f"{name}_high"


CHECK = (
    "test", "metric", "subject", "outcome", "estimate", "low", "high", "level", "n", "bound",
    "reason", "author", "against", "p_value",
)  # fmt: skip
"""Columns of the table of checks."""


def _checks(record: Any) -> Frame:
    cells = ([getattr(check, name) for name in CHECK] for check in record.checks)
    return Frame(CHECK, [tuple(map(_plain, row)) for row in cells])


def _prompts(record: Any) -> Frame:
    columns = (
        "prompt", "axis", "concept", "variant", "id", "detector", "male", "female", "other",
        "undetected", "prompt_bias_score",
    )  # fmt: skip
    rows = [
        (
            prompt.text, prompt.axis, prompt.concept, prompt.variant, prompt.id, detector,
            *_counted(counts.labels), sum(counts.undetected.values()),
            None if place else prompt.prompt_bias_score,
        )
        for prompt in record.prompts
        for place, (detector, counts) in enumerate(prompt.counts.items())
    ]  # fmt: skip
    return Frame(columns, rows, ("prompt_bias_score",))


def _counted(labels: Mapping[str, int]) -> tuple[int, int, int]:
    """Return the numbers of male, female and other images."""
    male, female = (labels.get(label, 0) for label in ("male", "female"))
    return male, female, sum(labels.values()) - male - female


def _images(record: Any) -> Frame:
    columns = ("id", "prompt", "variant", "seed", "file", "detector", "label", "undetected")
    rows = [
        (
            prompt.id, prompt.text, prompt.variant, image.seed, image.file, detector,
            detection.label, _plain(detection.undetected),
        )
        for prompt in record.prompts
        for image in prompt.images
        for detector, detection in image.detections.items()
    ]  # fmt: skip
    return Frame(columns, rows)


def _plain(value: Any) -> Any:
    """Return an enum member as a plain text; other values unchanged."""
    return value.value if isinstance(value, StrEnum) else value


TABLES: Mapping[str, Callable[[Any], Frame]] = MappingProxyType(
    {"checks": _checks, "prompts": _prompts, "images": _images}
)
"""Name of a table of the core -> function that builds it from a RunRecord."""
