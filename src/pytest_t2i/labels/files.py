"""labels.csv: read with a clear word on every fault, written whole."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path

from filelock import FileLock

from pytest_t2i.errors import ConfigurationError, FileFormatError
from pytest_t2i.files import CsvRow, read_csv, write_whole
from pytest_t2i.labels.records import LABELS, Label

FILE_NAME = "labels.csv"
COLUMNS = tuple(column.name for column in fields(Label))
NEEDED = ("file", "label", "annotator")
PICTURES = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff"}
EXPECTED = (
    f"Expected {FILE_NAME} with the columns {','.join(NEEDED)} and, where known, "
    f"reason,prompt,model; a label is {', '.join(LABELS)}."
)


def read_labels(folder: Path) -> list[Label]:
    """Every label in FOLDER/labels.csv, in its order; none when there is no such file.

    Raises:
        ConfigurationError: the folder does not exist.
        FileFormatError: a column is absent or a row cannot be used (file, line, value).
    """
    _check_folder(folder)
    path = folder / FILE_NAME
    if not os.path.lexists(path):  # a link to nothing is no absent file
        return []
    labels: dict[tuple[str, str], Label] = {}
    for row in read_csv(path, NEEDED, remedy=EXPECTED):
        label = _label(path, row)
        first = labels.setdefault(_key(label), label)
        if first.label != label.label:
            raise FileFormatError(
                path,
                f"{label.annotator} says both {first.label} and {label.label} "
                f"of {label.file}. Keep one of the two rows.",
                where=row.where,
            )
    return list(labels.values())


def write_labels(folder: Path, labels: Iterable[Label]) -> None:
    """Write FOLDER/labels.csv whole, sorted by file and annotator."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    rows = sorted(labels, key=lambda label: (label.file, label.annotator))
    writer.writerows(asdict(label) for label in rows)
    write_whole(folder / FILE_NAME, text.getvalue().encode())


def record(folder: Path, label: Label) -> None:
    """Keep a label, in place of what this annotator said of the file before.

    Several processes may do so at once.
    """
    with _lock(folder):
        kept = [other for other in read_labels(folder) if _key(other) != _key(label)]
        write_labels(folder, [*kept, label])


def forget(folder: Path, file: str, annotator: str) -> None:
    """Take back what an annotator said of a file."""
    with _lock(folder):
        known = read_labels(folder)
        kept = [other for other in known if _key(other) != (file, annotator)]
        if len(kept) < len(known):
            write_labels(folder, kept)


def image_files(folder: Path) -> list[str]:
    """Every picture below a folder, as sorted relative paths; hidden ones are left out.

    Raises ConfigurationError when the folder does not exist.
    """
    _check_folder(folder)
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(
        path.as_posix()
        for path in files
        if path.suffix.lower() in PICTURES and not any(p.startswith(".") for p in path.parts)
    )


def prompts_of(folder: Path) -> dict[str, str]:
    """File -> prompt, from the folder's manifest.csv if it has one (as for images:DIR).

    Raises FileFormatError when it is malformed.
    """
    path = folder / "manifest.csv"
    if not os.path.lexists(path):  # a link to nothing is no absent file
        return {}
    rows = [row.values for row in read_csv(path, ("file", "prompt"))]
    return {row["file"]: row["prompt"] for row in rows if row["file"] and row["prompt"]}


def _label(path: Path, row: CsvRow) -> Label:
    try:
        return Label(**{name: row.values.get(name, "") for name in COLUMNS})
    except ValueError as error:
        raise FileFormatError(path, f"{error}.", where=row.where) from None


def _key(label: Label) -> tuple[str, str]:
    return label.file, label.annotator


def _lock(folder: Path) -> FileLock:
    return FileLock(folder / f".{FILE_NAME}.lock")


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        kind = "is a file, not a folder" if folder.exists() else "does not exist"
        raise ConfigurationError(f"folder of labelled images {folder} {kind}. {EXPECTED}")
