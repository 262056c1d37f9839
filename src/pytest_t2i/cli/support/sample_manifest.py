"""Write a new folder of numbered pictures with a manifest of their prompts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_t2i.errors import StoreError
from pytest_t2i.files import explain, printed_cell, write_whole

MANIFEST = "manifest.csv"


class Manifest:
    """A manifest that numbers pictures, and is written when all of them are there."""

    def __init__(self, folder: Path, columns: Sequence[str], count: int) -> None:
        self.folder, self.digits = folder, len(str(count))
        self.rows: list[Sequence[object]] = [("file", *columns)]

    def add(self, suffix: str, row: Sequence[object]) -> Path:
        """Add a row, and return the file for its picture."""
        name = f"{len(self.rows):0{self.digits}}{suffix}"
        self.rows.append((name, *row))
        return self.folder / name

    @contextmanager
    def written(self) -> Iterator[None]:
        """Write the manifest at the end of this context.

        Raises StoreError where a picture cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            yield
        except OSError as error:
            raise StoreError(explain(self.folder, error)) from error
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(map(printed_cell, row) for row in self.rows)
        write_whole(self.folder / MANIFEST, text.getvalue().encode())
