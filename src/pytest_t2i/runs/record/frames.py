"""The tables of a run's record: checks, prompts, images, and the tables of audits.

Columns are documented in docs/exports.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.data import Interval
from pytest_t2i.errors import MissingExtraError, UnknownNameError

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]


def to_frame(record: Any, table: str) -> pd.DataFrame:
    """Return a table of a run as a pandas DataFrame.

    >>> from pytest_t2i import RunRecord
    >>> run = RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, {}, {})
    >>> to_frame(run, "prompts").columns.tolist()[:4]
    ['model', 'created', 'prompt', 'axis']
    """
    every = dict(_tables(record))
    if table not in every:
        raise UnknownNameError("table of a run", table, list(every))
    return data_frame(_with_run(record, *every[table]))


class PlainTable(NamedTuple):
    """A table of a run before it is a DataFrame."""

    columns: list[str]
    rows: list[Row]
    """Rows, each a mapping from column to cell."""


def tables(record: Any) -> Iterator[tuple[str, PlainTable]]:
    """Yield the name and content of all tables of a run, those of audits included."""
    return ((name, _with_run(record, *cells)) for name, cells in _tables(record))


def data_frame(table: PlainTable) -> pd.DataFrame:
    """Convert a table to pandas; raise MissingExtraError if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("a table of a run", "frames", "pandas") from None
    return pd.DataFrame(table.rows, columns=table.columns)


Cells = tuple[tuple[str, ...], Sequence[tuple[Any, ...]], str]
"""Columns, rows, and the column of an interval even where no row has one."""


def _tables(record: Any) -> Iterator[tuple[str, Cells]]:
    """Yield the tables of the core and of all audits, empty where the run has no rows."""
    for name, cells_of in TABLES.items():
        yield name, cells_of(record)
    for name in dict.fromkeys((*record.audits, *(audit.name for audit in installed_audits()))):
        yield name, (*record.part(name).table(), "value")


def _with_run(
    record: Any, columns: Sequence[str], cells: Sequence[tuple[Any, ...]], measured: str
) -> PlainTable:
    """Add the columns "model" and "created", and turn each interval into three columns."""
    run: Row = {"model": record.model, "created": record.created}
    pairs = [list(zip(columns, row, strict=True)) for row in cells]
    wide = {measured, *(name for row in pairs for name, cell in row if isinstance(cell, Interval))}
    rows: list[Row] = []
    for row in pairs:
        flat = dict(run)
        for name, cell in row:
            flat |= _interval(name, cell) if name in wide else {name: cell}
        rows.append(flat)
    spread = (_columns(name) if name in wide else (name,) for name in columns)
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


def _checks(record: Any) -> Cells:
    cells = ([getattr(check, name) for name in CHECK] for check in record.checks)
    return CHECK, [tuple(map(_plain, row)) for row in cells], ""


def _prompts(record: Any) -> Cells:
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
    return columns, rows, "prompt_bias_score"


def _counted(labels: Mapping[str, int]) -> tuple[int, int, int]:
    """Return the numbers of male, female and other images."""
    male, female = (labels.get(label, 0) for label in ("male", "female"))
    return male, female, sum(labels.values()) - male - female


def _images(record: Any) -> Cells:
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
    return columns, rows, ""


def _plain(value: Any) -> Any:
    """Return an enum member as a plain text; other values unchanged."""
    return value.value if isinstance(value, StrEnum) else value


TABLES: Mapping[str, Callable[[Any], Cells]] = MappingProxyType(
    {"checks": _checks, "prompts": _prompts, "images": _images}
)
"""Name of a table of the core -> function that builds it from a RunRecord."""
