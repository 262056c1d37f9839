"""Read a folder's manifest: the prompt and seed of each picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pytest_t2i.errors import FileFormatError, ModelLoadError, shown, some
from pytest_t2i.files import convert, inside, outside, parse_json, read_csv, read_text

COLUMNS = ("file", "prompt", "seed")
"""Columns of a manifest.csv; the last one is optional."""
REVISED = "revised_prompt"
"""Optional column: the service's revised prompt."""
LONGEST_PROMPT = 4000
"""Largest number of characters of a revised prompt."""
CSV_NAME, JSON_NAME = "manifest.csv", "manifest.json"
EXPECTED = (
    "Expected manifest.csv:\n"
    "    file,prompt,seed\n"
    "    0001.png,a photo of one real person who is a nurse,0\n"
    'or manifest.json: [{"file": "0001.png", "prompt": "...", "seed": 0}, ...]. '
    "The seed is optional: without it, the pictures of a prompt are numbered from 0."
)
SEED_BITS = 63
"""Largest number of bits of a seed without its sign, which is the limit of the store's index."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One picture of the folder."""

    file: str
    """Path relative to the folder."""
    prompt: str
    seed: int
    """The given seed, or the number of the picture among those of its prompt, from 0."""
    revised_prompt: str | None = None
    """The service's revised prompt; None where there is none."""


def read_manifest(folder: Path) -> list[Entry]:
    """Read the entries of a folder's manifest, in their order.

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
            f"{folder}: expected {CSV_NAME} or {JSON_NAME}, found neither among {len(names)} "
            f"files. {EXPECTED}"
        )
    entries = list(_entries(path, rows))
    if not entries:
        raise FileFormatError(path, "expected at least one picture, got none.", remedy=EXPECTED)
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


class _Picture(msgspec.Struct):
    """One row of the manifest; other columns are ignored."""

    file: str
    prompt: str
    seed: int | str | None = None
    revised_prompt: str | None = None


Row = tuple[str, _Picture]
"""Position ("line 3") and content of a row."""


def _csv_rows(path: Path) -> Iterator[Row]:
    for where, values in read_csv(path, COLUMNS[:2], remedy=EXPECTED):
        seed, revised = values.get("seed"), values.get(REVISED)
        yield where, _Picture(values["file"], values["prompt"], seed, revised)


def _json_rows(path: Path) -> Iterator[Row]:
    pictures = parse_json(path, read_text(path))
    if isinstance(pictures, dict):
        pictures = pictures.get("images")
    if not isinstance(pictures, list):
        raise FileFormatError(path, "expected a list of pictures.", remedy=EXPECTED)
    for place, plain in enumerate(pictures):
        yield f"[{place}]", convert(path, plain, _Picture, where=f"[{place}]")


def _entries(path: Path, rows: Iterable[Row]) -> Iterator[Entry]:
    counts: dict[str, int] = {}
    for where, row in rows:
        file, prompt = row.file.strip(), row.prompt.strip()
        for column, value in (("file", file), ("prompt", prompt)):
            if not value:
                problem = f"expected a text, got {value!r}."
                raise FileFormatError(path, problem, where=f"{where}, column {column}")
        number = counts.get(prompt, 0)
        counts[prompt] = number + 1
        seed = _seed(path, where, row.seed)
        revised = " ".join((row.revised_prompt or "").split())[:LONGEST_PROMPT] or None
        yield Entry(file, prompt, number if seed is None else seed, revised)


def _seed(path: Path, where: str, given: int | str | None) -> int | None:
    if given is None or given == "":
        return None
    try:
        seed = int(given)
    except ValueError:
        seed = None
    if seed is None or seed.bit_length() > SEED_BITS:
        problem = f"expected a whole number of at most {SEED_BITS} bits, got {shown(given)}."
        raise FileFormatError(path, problem, where=f"{where}, column seed")
    return seed


def _check_seeds(path: Path, entries: list[Entry]) -> None:
    seen: dict[tuple[str, int], str] = {}
    for entry in entries:
        first = seen.setdefault((entry.prompt, entry.seed), entry.file)
        if first != entry.file:
            raise FileFormatError(
                path,
                f"{first} and {entry.file} both have seed {entry.seed} of {entry.prompt!r}.",
                remedy="Give each picture its own seed, or leave the column out.",
            )


def _check_files(folder: Path, path: Path, entries: list[Entry]) -> None:
    files = [entry.file for entry in entries]
    if led_out := outside(folder, files):
        raise FileFormatError(
            path,
            f"{len(led_out)} of {len(files)} pictures lie outside of {folder}: {some(led_out)}.",
            remedy="Give paths within the folder, relative to it; links must stay in it, too.",
        )
    absent = [file for file in files if inside(folder, file) is None]
    if absent:
        raise ModelLoadError(
            f"{path}: expected all files in {folder}, {len(absent)} of {len(files)} are missing: "
            f"{some(absent)}. Add them; paths are relative to the folder."
        )
