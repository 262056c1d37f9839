"""Read a folder's manifest: the prompt and seed of each picture."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pytest_t2i.adapters.tables import existing, of_cell, read_csv
from pytest_t2i.errors import FileFormatError, ModelLoadError, shown, some
from pytest_t2i.files import FileNames, outside
from pytest_t2i.read_files import convert, parse_json, read_text

COLUMNS = ("file", "prompt", "seed")
"""Columns of a manifest.csv; the last one is optional."""
REVISED = "revised_prompt"
"""Optional column: the service's revised prompt."""
LONGEST_PROMPT = 4000
"""Largest number of characters of a revised prompt."""
CSV_NAME, JSON_NAME = "manifest.csv", "manifest.json"
NAMES = (CSV_NAME, JSON_NAME)
"""Names of manifests, the first of which is read where there are both."""
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
    is_numbered: bool = False
    """Whether the manifest gives no seed, so that ``seed`` is a number."""


class Manifest(NamedTuple):
    """The pictures of a folder."""

    entries: list[Entry]
    notes: list[str]
    """What the user should know of the list, in words."""


def read_manifest(folder: Path) -> Manifest:
    """Read the entries of a folder's manifest, in their order."""
    names = _names_in(folder)
    path = _manifest_in(folder)
    if path is None:
        raise ModelLoadError(_no_manifest(folder, names))
    pictures = list(_pictures(path, _rows_of(path)))
    if not pictures:
        raise FileFormatError(path, "expected at least one picture, got none.", remedy=EXPECTED)
    files = _files(folder, path, [picture.file for picture in pictures])
    _check_once(folder, path, pictures, files)
    _check_seeds(path, pictures)
    entries = [
        Entry(file, row.prompt, row.seed, row.revised_prompt, row.is_numbered)
        for file, row in zip(files, pictures, strict=True)
    ]
    pairs = [
        f"{shown(row.file)} as {shown(file)}"
        for file, row in zip(files, pictures, strict=True)
        if file != row.file
    ]
    notes = []
    if pairs:
        notes.append(
            f"{len(pairs)} of {len(files)} files are spelled as on another system: {some(pairs, 1)}"
        )
    heif = [entry.file for entry in entries if entry.file.lower().endswith((".heic", ".heif"))]
    if heif:
        notes.append(f"HEIC is not read, convert {some(heif)} to PNG or JPEG")
    return Manifest(entries, [f"{path.name}: {note}" for note in notes])


def listed_in(folder: Path, needed: str) -> Iterator[tuple[str, str]]:
    """Yield file and text of the needed column for each row of a folder's manifest with both.

    Nothing is yielded where the folder has no manifest. Files and prompts are not checked. Raises
    FileFormatError if the manifest is malformed.
    """
    path = _manifest_in(folder)
    if path is None:
        return
    spellings = FileNames(folder)
    for _, row in _rows_of(path, ("file",)):
        file_cell, text = (str(row.get(name) or "") for name in ("file", needed))
        file, text = existing(folder, file_cell, file_cell.strip()), text.strip()
        if file and text:
            yield spellings.on_disk(file) or file, text


def _names_in(folder: Path) -> list[str]:
    if not folder.is_dir():
        kind = "is a file, not a folder" if folder.exists() else "does not exist"
        raise ModelLoadError(f"image folder {folder} {kind}. Use --t2i-model images:DIR.")
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise ModelLoadError(
            f"image folder {folder} cannot be read: {error.strerror}. Check its permissions."
        ) from None
    if not names:
        raise ModelLoadError(f"image folder {folder} is empty. {EXPECTED}")
    return names


def _manifest_in(folder: Path) -> Path | None:
    return next((folder / name for name in NAMES if os.path.lexists(folder / name)), None)


def _no_manifest(folder: Path, names: Sequence[str]) -> str:
    text = f"{folder}: expected {CSV_NAME} or {JSON_NAME}, found neither among {len(names)} files."
    near = [name for name in names if name.casefold().startswith(("manifest", "metadata"))]
    below = sorted(
        name for name in names
        if (folder / name).is_dir() and any((folder / name / file).is_file() for file in NAMES)
    )  # fmt: skip
    if near:
        text += f" There is {some(near)}: save it as {CSV_NAME}, with the ending .csv."
    if below:
        text += f" There is one in {some(below)}: use images:{folder / below[0]}."
    return f"{text} {EXPECTED}"


Row = tuple[str, Mapping[str, Any]]
"""Position ("line 3") and content of a row."""


def _rows_of(path: Path, needed: Sequence[str] = COLUMNS[:2]) -> Iterator[Row]:
    if path.name == CSV_NAME:
        for where, row in read_csv(path, needed, remedy=EXPECTED):
            yield where, {name: of_cell(text) for name, text in row.items()}
        return
    pictures = parse_json(path, read_text(path, kind="manifest", remedy=EXPECTED))
    if isinstance(pictures, dict):
        pictures = pictures.get("images")
    if not isinstance(pictures, list):
        raise FileFormatError(path, "expected a list of pictures.", remedy=EXPECTED)
    for place, plain in enumerate(pictures):
        yield f"[{place}]", convert(path, plain, dict[str, Any], where=f"[{place}]")


class _Plain(msgspec.Struct):
    """One row of the manifest as it is written; other columns are ignored."""

    file: str
    prompt: str
    seed: int | str | None = None
    revised_prompt: str | None = None


class _Picture(NamedTuple):
    """One row of the manifest."""

    where: str
    file: str
    prompt: str
    seed: int
    revised_prompt: str | None
    is_numbered: bool


def _pictures(path: Path, rows: Iterable[Row]) -> Iterator[_Picture]:
    counts: dict[str, int] = {}
    for where, plain in rows:
        row = convert(path, plain, _Plain, where=where)
        # A prompt with outer blanks is written as a literal, which a table keeps.
        is_json = path.name == JSON_NAME
        file = existing(path.parent, row.file, row.file.strip())
        prompt = row.prompt.strip() if is_json else row.prompt
        for column, value in (("file", file), ("prompt", prompt)):
            if not value.strip():
                problem = f"expected a text, got {value!r}."
                raise FileFormatError(path, problem, where=f"{where}, column {column}")
        number = counts.get(prompt, 0)
        counts[prompt] = number + 1
        seed = _seed(path, where, row.seed)
        is_numbered = seed is None
        revised = " ".join((row.revised_prompt or "").split())[:LONGEST_PROMPT] or None
        seed = number if seed is None else seed
        yield _Picture(where, file, prompt, seed, revised, is_numbered)


def _seed(path: Path, where: str, value: int | str | None) -> int | None:
    if value is None or value == "":
        return None
    try:
        seed = int(value)
    except ValueError:
        seed = 1 << SEED_BITS
    if seed.bit_length() > SEED_BITS:
        problem = f"expected a whole number of at most {SEED_BITS} bits, got {shown(value)}."
        raise FileFormatError(path, problem, where=f"{where}, column seed")
    return seed


def _check_once(
    folder: Path, path: Path, pictures: Sequence[_Picture], files: Sequence[str]
) -> None:
    """Refuse a picture that stands in two rows: it would count as two independent images."""
    first: dict[str, _Picture] = {}
    for picture, file in zip(pictures, files, strict=True):
        # A circle of links has no real path, and is met again where the picture is opened.
        earlier = first.setdefault(os.path.realpath(folder / file), picture)
        if earlier is not picture:
            same = earlier.prompt == picture.prompt
            seeds = (f"seeds {earlier.seed} and {picture.seed} of {picture.prompt!r}" if same
                     else f"the prompts {earlier.prompt!r} and {picture.prompt!r}")  # fmt: skip
            name = file if earlier.file == picture.file else f"{earlier.file} and {picture.file}"
            raise FileFormatError(
                path,
                f"{name} is one picture, listed twice, with {seeds}.",
                where=f"{earlier.where} and {picture.where}",
                remedy="A picture counts once: keep one of the rows, or name another file.",
            )


def _check_seeds(path: Path, pictures: Sequence[_Picture]) -> None:
    first: dict[tuple[str, int], _Picture] = {}
    for picture in pictures:
        earlier = first.setdefault((picture.prompt, picture.seed), picture)
        if earlier is not picture:
            raise FileFormatError(
                path,
                f"{earlier.file} and {picture.file} both have seed {picture.seed} of "
                f"{picture.prompt!r}.",
                where=f"{earlier.where} and {picture.where}",
                remedy="Give each picture its own seed, or leave the column out.",
            )


def _files(folder: Path, path: Path, entries: Sequence[str]) -> list[str]:
    """Return the names of files as they are on the disk.

    Raises an error where a file is absent, or outside of the folder.
    """
    spellings = FileNames(folder)
    names = [spellings.on_disk(name) for name in entries]
    led_out = outside(folder, (name or entry for name, entry in zip(names, entries, strict=True)))
    if led_out:
        raise FileFormatError(
            path,
            f"{len(led_out)} of {len(entries)} pictures lie outside of {folder}: {some(led_out)}.",
            remedy="Give paths within the folder, relative to it; links must stay in it, too.",
        )
    absent = [entry for name, entry in zip(names, entries, strict=True) if name is None]
    if absent:
        cause = spellings.cause(absent)
        raise ModelLoadError(
            f"{path}: expected all files in {folder}, {len(absent)} of {len(entries)} are "
            f"missing: {some(absent)}. {cause or 'Add them; paths are relative to the folder.'}"
        )
    return [name for name in names if name is not None]
