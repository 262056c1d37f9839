"""The log beside labels.csv: one line per label since the table was last written.

Writing a table of 100,000 rows after every label would take most of a second; appending a line does
not. Each line is appended in one write before the labelling page is answered, so that a killed
server loses no label. A line that a full disk cut short was never confirmed, and is left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import msgspec

from pytest_t2i.errors import FileFormatError, StoreError
from pytest_t2i.files import explain, literal, of_cell, read_text
from pytest_t2i.labels.label import Label

LOG_NAME = ".labels.log"


class Word(msgspec.Struct):
    """One line of the log: a label, or the removal of one (``label`` is null)."""

    file: str
    annotator: str
    label: str | None
    reason: str = ""
    prompt: str = ""
    model: str = ""

    def as_label(self) -> Label | None:
        """Return the label; None for a removal. Raises ValueError for a malformed label."""
        if self.label is None:
            return None
        return Label(self.file, self.label, self.annotator, self.reason, self.prompt, self.model)

    def with_texts(self, of: Callable[[str], str]) -> Word:
        """Return the word with ``of`` applied to every text."""
        texts = {
            name: of(text)
            for name, text in msgspec.structs.asdict(self).items()
            if text is not None
        }
        return msgspec.structs.replace(self, **texts)


def add_label(folder: Path, label: Label) -> None:
    """Append a label. Raises StoreError if the folder cannot be written."""
    _add(folder, Word(**asdict(label)))


def add_taken_back(folder: Path, file: str, annotator: str) -> None:
    """Append the removal of an annotator's label. Raises StoreError as ``add_label``."""
    _add(folder, Word(file, annotator, None))


def _add(folder: Path, word: Word) -> None:
    path = folder / LOG_NAME
    line = msgspec.json.encode(word.with_texts(_as_kept))
    try:
        with path.open("ab", buffering=0) as file:
            # After a line that a full disk cut short, this one starts on a new line.
            start = b"\n" if _is_cut_short(path) else b""
            file.write(start + line + b"\n")
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(explain(path, error)) from error


def _as_kept(text: str) -> str:
    """Return a text as JSON can hold it: half a surrogate pair cannot be in it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return literal(text)
    return literal(text) if of_cell(text) != text else text


def _is_cut_short(path: Path) -> bool:
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def read_log(folder: Path) -> Iterator[Word]:
    """Yield the lines, oldest first; lines that were cut short are left out.

    Raises FileFormatError that names the line.
    """
    path = folder / LOG_NAME
    if not path.exists():
        return
    lines = read_text(path).split("\n")
    for number, line in enumerate(lines, 1):
        if line:
            try:
                yield msgspec.json.decode(line, type=Word).with_texts(of_cell)
            except msgspec.MsgspecError as error:
                if number < len(lines) and not _is_part(line):
                    raise FileFormatError(path, f"{error}.", where=f"line {number}") from None


def _is_part(line: str) -> bool:
    """Whether a line was cut short, as by a full disk: its JSON object is not closed."""
    return not line.endswith("}")


def clear_log(folder: Path) -> None:
    """Remove the log, once the table holds all its labels."""
    (folder / LOG_NAME).unlink(missing_ok=True)
