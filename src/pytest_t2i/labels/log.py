"""The log beside labels.csv: what was said since the table was written last, a line a word.

Writing 100,000 rows for every key takes most of a second; adding a line does not. A line is added
in one write, before the page is answered, so a killed server loses no word; one that a full disk
cut short was never confirmed, and is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import msgspec

from pytest_t2i.errors import FileFormatError, StoreError
from pytest_t2i.files import explain, read_text
from pytest_t2i.labels.label import Label

LOG_NAME = ".labels.log"


class Word(msgspec.Struct):
    """One line: a label, or with label null that it was taken back."""

    file: str
    annotator: str
    label: str | None
    reason: str = ""
    prompt: str = ""
    model: str = ""

    def as_label(self) -> Label | None:
        """The label; None where it was taken back. Raises ValueError for what is none."""
        if self.label is None:
            return None
        return Label(self.file, self.label, self.annotator, self.reason, self.prompt, self.model)


def add_label(folder: Path, label: Label) -> None:
    """Add a label. Raises StoreError when the folder cannot be written."""
    _add(folder, Word(**asdict(label)))


def add_taken_back(folder: Path, file: str, annotator: str) -> None:
    """Add that an annotator takes back what they said of a file."""
    _add(folder, Word(file, annotator, None))


def _add(folder: Path, word: Word) -> None:
    path = folder / LOG_NAME
    try:
        with path.open("ab", buffering=0) as file:
            # A line that a full disk cut short must not swallow this one.
            start = b"\n" if _is_cut_short(path) else b""
            file.write(start + msgspec.json.encode(word) + b"\n")
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(explain(path, error)) from error


def _is_cut_short(path: Path) -> bool:
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def read_log(folder: Path) -> Iterator[Word]:
    """What was said, oldest first; a last line that was cut short is left out.

    Raises FileFormatError that names the line.
    """
    path = folder / LOG_NAME
    if not path.exists():
        return
    lines = read_text(path).split("\n")
    for number, line in enumerate(lines, 1):
        if line:
            try:
                yield msgspec.json.decode(line, type=Word)
            except msgspec.MsgspecError as error:
                if number < len(lines) and not _is_part(line):
                    raise FileFormatError(path, f"{error}.", where=f"line {number}") from None


def _is_part(line: str) -> bool:
    """Whether a line ends before its object does, as one does that a full disk cut short."""
    return not line.endswith("}")


def clear_log(folder: Path) -> None:
    """Remove the log, of which the table holds every word."""
    (folder / LOG_NAME).unlink(missing_ok=True)
