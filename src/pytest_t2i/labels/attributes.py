"""Groups of labelled images by further columns of a label table: age band, race, skin tone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_t2i.adapters.tables import of_cell, read_csv
from pytest_t2i.errors import ConfigurationError, FileFormatError

CROSSED = " x "
"""Sign between the names of attributes or groups that are crossed."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """A column of a label table whose values are groups, or numbers that fall into bands.

    >>> ages = Grouping.read("age=30,60")
    >>> ages.group_of("29"), ages.group_of("30"), ages.group_of("61.5")
    ('under 30', '30 to under 60', '60 and over')
    """

    column: str
    edges: tuple[float, ...] = ()
    """Ascending first values of the bands after the first; () takes each value as a group."""

    def __post_init__(self) -> None:
        if not self.column or list(self.edges) != sorted(set(self.edges)):
            raise ConfigurationError(
                f"--by: expected a column, or a column with ascending edges such as age=30,60, got "
                f"{self}"
            )

    def __str__(self) -> str:
        return f"{self.column}={','.join(f'{edge:g}' for edge in self.edges)}".rstrip("=")

    @classmethod
    def read(cls, text: str) -> Grouping:
        """Read ``race`` or ``age=30,60``; raises ConfigurationError for anything else."""
        column, sign, edges = (part.strip() for part in text.partition("="))
        try:
            numbers = tuple(float(edge) for edge in edges.split(",")) if sign else ()
        except ValueError:
            numbers = (math.nan,)
        if not all(map(math.isfinite, numbers)):
            raise ConfigurationError(
                f"--by: expected a column, or a column with numbers such as age=30,60, got {text!r}"
            )
        return cls(column, numbers)

    @property
    def bands(self) -> tuple[str, ...]:
        """The names of the bands in their order; () for a column of names."""
        if not self.edges:
            return ()
        first, last = f"under {self.edges[0]:g}", f"{self.edges[-1]:g} and over"
        pairs = zip(self.edges, self.edges[1:], strict=False)
        return (first, *(f"{low:g} to under {high:g}" for low, high in pairs), last)

    def band_of(self, number: float) -> str:
        return self.bands[sum(number >= edge for edge in self.edges)]

    def group_of(self, cell: str) -> str:
        """Return the group of a cell that is not empty; raises ValueError for no number."""
        if not self.edges:
            return cell
        number = float(cell)
        if not math.isfinite(number):
            raise ValueError(f"expected a number, got {cell!r}")
        return self.band_of(number)


def groups_of(table: Path, groupings: Sequence[Grouping]) -> dict[str, dict[str, str]]:
    """Return column -> file -> group, by a label table; images with an empty cell are left out."""
    columns = [grouping.column for grouping in groupings]
    rows = read_csv(table, ("file", *columns), remedy="Name the columns of the groups with --by.")
    groups: dict[str, dict[str, str]] = {column: {} for column in columns}
    for row in rows:
        name = of_cell(row.values["file"])
        for grouping in groupings:
            cell = row.values[grouping.column]
            if not cell:
                continue
            try:
                group = grouping.group_of(cell)
            except ValueError:
                raise FileFormatError(
                    table,
                    f"expected a number as {grouping.column!r} for --by {grouping}, got {cell!r}.",
                    where=row.where,
                ) from None
            if groups[grouping.column].setdefault(name, group) != group:
                raise FileFormatError(
                    table,
                    f"{name} has two values of {grouping.column!r}: "
                    f"{groups[grouping.column][name]!r} and {group!r}.",
                    where=row.where,
                )
    return groups


def crossed(groups: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return file -> groups of all columns together, for files that have every column.

    >>> crossed({"age": {"a.png": "old", "b.png": "young"}, "tone": {"a.png": "dark"}})
    {'a.png': 'old x dark'}
    """
    first, *further = groups.values()
    files = [file for file in first if all(file in table for table in further)]
    return {file: CROSSED.join(of[file] for of in groups.values()) for file in files}
