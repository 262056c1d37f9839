"""The list that says which picture of a folder shows which prompt. Standard library only."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_t2i.errors import FileFormatError, ModelLoadError

CSV_NAME, JSON_NAME = "manifest.csv", "manifest.json"
EXPECTED = (
    "Expected manifest.csv:\n"
    "    file,prompt,seed\n"
    "    0001.png,a photo of one real person who is a nurse,0\n"
    'or manifest.json: [{"file": "0001.png", "prompt": "...", "seed": 0}, ...]. '
    "The seed may be left out: the pictures of a prompt are then numbered from 0."
)
SHOWN = 3
"""File names listed in a message before "and N more"."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One picture of the folder."""

    file: str
    """Path relative to the folder."""
    prompt: str
    seed: int
    """As given, or the place among the pictures of its prompt, from 0."""


def read_manifest(folder: Path) -> list[Entry]:
    """The entries of a folder's manifest, in its order.

    Raises:
        ModelLoadError: the folder cannot be read or is empty, has no manifest, or lacks files.
        FileFormatError: the manifest is malformed (file, line, column).
    """
    names = _names_in(folder)
    if CSV_NAME in names:
        path, rows = folder / CSV_NAME, _csv_rows(folder / CSV_NAME)
    elif JSON_NAME in names:
        path, rows = folder / JSON_NAME, _json_rows(folder / JSON_NAME)
    else:
        raise ModelLoadError(
            f"{folder} has no {CSV_NAME} and no {JSON_NAME} ({len(names)} files). {EXPECTED}"
        )
    entries = _numbered(_entry(path, where, row) for where, row in rows)
    if not entries:
        raise FileFormatError(path, "it lists no picture.", remedy=EXPECTED)
    _check_seeds(path, entries)
    _check_files(folder, path, entries)
    return entries


def _names_in(folder: Path) -> set[str]:
    if not folder.is_dir():
        kind = "is a file, not a folder" if folder.exists() else "does not exist"
        raise ModelLoadError(f"image folder {folder} {kind}. Use --t2i-model images:DIR.")
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise ModelLoadError(
            f"image folder {folder} cannot be read: {error.strerror}. Check its permissions."
        ) from None
    if not names:
        raise ModelLoadError(f"image folder {folder} is empty. {EXPECTED}")
    return names


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError(
            path, f"it is not UTF-8 ({error.reason}).", where=f"byte {error.start}"
        ) from None
    except OSError as error:
        raise ModelLoadError(f"{path} cannot be read: {error.strerror}.") from None


Row = tuple[str, Mapping[str, Any]]
"""Where it stands ("line 3"), and its values by column."""


def _csv_rows(path: Path) -> Iterator[Row]:
    reader = csv.DictReader(io.StringIO(_text(path), newline=""), strict=True)
    columns = reader.fieldnames or []
    for needed in ("file", "prompt"):
        if needed not in columns:
            raise FileFormatError(
                path,
                f"no column {needed!r}; there are: {', '.join(columns) or 'none'}.",
                where="line 1",
                remedy=EXPECTED,
            )
    try:
        for row in reader:
            if None in row:
                raise FileFormatError(
                    path,
                    f"more values than the {len(columns)} columns. Quote texts with commas.",
                    where=f"line {reader.line_num}",
                )
            yield f"line {reader.line_num}", row
    except csv.Error as error:
        where = f"line {reader.reader.line_num}"
        raise FileFormatError(path, f"{error}.", where=where) from None


def _json_rows(path: Path) -> Iterator[Row]:
    try:
        table = json.loads(_text(path))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise FileFormatError(path, f"not valid JSON: {error.msg}.", where=where) from None
    if isinstance(table, dict):
        table = table.get("images")
    if not isinstance(table, list):
        raise FileFormatError(path, "expected a list of pictures.", remedy=EXPECTED)
    for place, row in enumerate(table):
        if not isinstance(row, dict):
            raise FileFormatError(path, f"expected an object, got {row!r}.", where=f"[{place}]")
        yield f"[{place}]", row


def _entry(path: Path, where: str, row: Mapping[str, Any]) -> tuple[str, str, int | None]:
    for column in ("file", "prompt"):
        value = row.get(column)
        if not isinstance(value, str) or not value.strip():
            raise FileFormatError(
                path, f"expected a text, got {value!r}.", where=f"{where}, column {column}"
            )
    seed = row.get("seed")
    if seed is None or seed == "":
        return row["file"].strip(), row["prompt"].strip(), None
    try:
        return row["file"].strip(), row["prompt"].strip(), int(str(seed))
    except ValueError:
        raise FileFormatError(
            path, f"expected a whole number, got {seed!r}.", where=f"{where}, column seed"
        ) from None


def _numbered(rows: Iterable[tuple[str, str, int | None]]) -> list[Entry]:
    entries: list[Entry] = []
    counts: dict[str, int] = {}
    for file, prompt, seed in rows:
        number = counts.get(prompt, 0)
        counts[prompt] = number + 1
        entries.append(Entry(file, prompt, number if seed is None else seed))
    return entries


def _check_seeds(path: Path, entries: list[Entry]) -> None:
    seen: dict[tuple[str, int], str] = {}
    for entry in entries:
        first = seen.setdefault((entry.prompt, entry.seed), entry.file)
        if first != entry.file:
            raise FileFormatError(
                path,
                f"{first} and {entry.file} both have seed {entry.seed} of {entry.prompt!r}.",
                remedy="Give each its own seed, or leave the column out.",
            )


def _check_files(folder: Path, path: Path, entries: list[Entry]) -> None:
    absent = [entry.file for entry in entries if not (folder / entry.file).is_file()]
    if absent:
        more = f" and {len(absent) - SHOWN} more" if len(absent) > SHOWN else ""
        raise ModelLoadError(
            f"{path} names {len(absent)} of {len(entries)} files that are not in {folder}: "
            f"{', '.join(absent[:SHOWN])}{more}. Paths are relative to the folder."
        )
