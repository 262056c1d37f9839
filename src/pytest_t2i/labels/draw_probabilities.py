"""The probabilities with which the images of a folder were drawn, where they differ."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_t2i.errors import FileFormatError
from pytest_t2i.files import read_csv, write_whole

FILE_NAME = "probabilities.csv"
COLUMNS = ("sha256", "probability", "drawn")


@dataclass(frozen=True, slots=True)
class Draw:
    """The draw of a folder's images: all candidates, by the hash of their content.

    >>> Draw({"a": 0.5, "b": 1.0}, frozenset("b")).probabilities["a"]
    0.5
    """

    probabilities: Mapping[str, float] = field(default_factory=dict)
    """Hash -> probability in (0, 1]; {} if all are equal, as by ``t2i sample --per-prompt``."""
    drawn: frozenset[str] = frozenset()
    """Hashes of the drawn images."""


def write_draw(folder: Path, images: Iterable[tuple[str, float, bool]]) -> None:
    """Write FOLDER/probabilities.csv from (hash, probability, whether drawn) of every candidate."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((name, repr(p), "yes" if drawn else "no") for name, p, drawn in images)
    write_whole(folder / FILE_NAME, text.getvalue().encode())


def draw_of(folder: Path) -> Draw:
    """Read FOLDER/probabilities.csv; the draw is empty if there is no such file.

    Images of the same content count as one image, which was drawn if any of them was.

    Raises:
        FileFormatError: a column is absent, or a probability is not in (0, 1] (file, line, value).
    """
    path = folder / FILE_NAME
    if not os.path.lexists(path):  # a dangling link raises an error below
        return Draw()
    chances: dict[str, float] = {}
    drawn = set()
    for row in read_csv(path, COLUMNS, remedy=f"t2i sample --for-correction writes {FILE_NAME}."):
        name, chance = row.values["sha256"], _probability(path, row.where, row.values)
        chances[name] = min(1.0, chances.get(name, 0.0) + chance)
        if row.values["drawn"] == "yes":
            drawn.add(name)
    return Draw(chances, frozenset(drawn))


def _probability(path: Path, where: str, values: Mapping[str, str]) -> float:
    given = values["probability"]
    try:
        chance = float(given)
    except ValueError:
        chance = 0.0
    if not 0.0 < chance <= 1.0:
        problem = f"expected a probability above 0 and up to 1, got {given!r}."
        raise FileFormatError(path, problem, where=where)
    return chance
