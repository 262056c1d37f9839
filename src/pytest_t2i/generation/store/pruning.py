"""Record in the store which images each run needed, and remove the images no recent run needs."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import Timeout

from pytest_t2i.errors import StoreError
from pytest_t2i.files import FileLock, explain, is_relative, write_whole
from pytest_t2i.generation.store import claims, shards, thumbnails
from pytest_t2i.generation.store.index import check_store_has_index, connect
from pytest_t2i.generation.store.locks import LOCKS, maintenance
from pytest_t2i.generation.store.repair import check_is_store
from pytest_t2i.read_files import inflated

RUNS = "runs"
"""Folder in a store with one file per run: the keys of the images that it needed."""
ENDING = ".keys"
NUMBERED = re.compile(r"run-(\d{1,18})-")
"""Beginning of a file's name: its number orders the runs, as a clock may be set back."""
COUNTING = 60.0
"""Seconds to wait for another run that takes its number."""
MOST_RUNS = 200
"""Number of runs whose files are kept; the oldest are removed first."""
AT_ONCE = 500
OF_IMAGES = ("images", "revised_prompts", "detections", "objects", "arrays", "pixels", "thumbnails")


@dataclass(frozen=True, slots=True)
class Pruned:
    """Result of pruning."""

    removed: int
    """Number of images removed."""
    bytes: int
    """Size of all removed files: pictures, traces and features, and files without an entry."""
    kept: int
    """Number of images that one of the last runs needed."""
    runs: int
    """Number of runs considered; fewer than requested where there are no more."""


def name_of_run(own: str) -> str:
    """A name that says when a run started, with microseconds.

    >>> name_of_run("ab12").endswith("-ab12")
    True
    """
    return f"{datetime.now(UTC).strftime('%Y%m%dT%H%M%S%f')}-{own}"


def note_needed(folder: Path, run: str, keys: Iterable[str]) -> None:
    """Record which images a run needs; a second call replaces the first.

    The first call gives the run the next number; runs that start at once take different ones.
    """
    content = zlib.compress("\n".join(sorted(keys)).encode(), level=1)
    runs = folder / RUNS
    try:
        runs.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / LOCKS / "counting", timeout=COUNTING):
            notes = _notes(folder)
            before = next((n for n in reversed(notes) if NUMBERED.sub("", n.stem) == run), None)
            number = _number(notes[-1]) + 1 if notes else 1
            note = before or runs / f"run-{number:012}-{run}{ENDING}"
            write_whole(note, content)
    except Timeout:
        raise StoreError(
            f"{folder}: another run has been taking its number for {COUNTING:g} s: end that "
            "process, and run again"
        ) from None
    except OSError as error:
        raise StoreError(explain(runs, error)) from error
    for old in notes[: len(notes) + (before is None) - MOST_RUNS]:
        old.unlink(missing_ok=True)


def prune(folder: Path, runs: int) -> Pruned:
    """Remove the images that none of the last runs needed, with their detections and arrays.

    Features of pictures that people labelled stay. The index is changed first: after a kill there
    may be files without an entry, but never an entry without its file.
    """
    check_is_store(folder)
    check_store_has_index(folder)
    with maintenance(folder):
        return _prune(folder, runs)


def _prune(folder: Path, runs: int) -> Pruned:
    notes = _notes(folder)
    if not notes:
        raise StoreError(
            f"{folder}: no run recorded which images it needs, so that no image is known to be "
            "unused. Run the suites once with this version"
        )
    needed = {key for note in notes[-runs:] for key in _read(note)}
    with closing(connect(folder)) as index:
        keys = [row["key"] for row in index.execute("SELECT key FROM images")]
        useless = [key for key in keys if key not in needed]
        # A file of several arrays stays as long as one of them is needed.
        files = [*_strike(index, useless), *shards.unnamed_arrays(folder, index)]
        files += [f"{thumbnails.FOLDER}/{key}.webp" for key in useless if is_relative(key)]
        index.execute("VACUUM")
    freed = sum(_remove(folder, name) for name in files)
    for note in notes[:-runs]:
        note.unlink(missing_ok=True)
    count = min(runs, len(notes))
    return Pruned(len(useless), freed, len(keys) - len(useless), count)


def _notes(folder: Path) -> list[Path]:
    """The files of all runs, the earliest first."""
    notes = (note for note in (folder / RUNS).glob(f"*{ENDING}") if NUMBERED.match(note.name))
    return sorted(notes, key=_number)


def _number(note: Path) -> int:
    """The number of a run."""
    return int(note.name.split("-")[1])


def _read(note: Path) -> list[str]:
    try:
        return inflated(note.read_bytes()).decode().split("\n")
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{note}: cannot be read ({error}), so that no image is known to be unused. "
            "Remove the file: images that only that run needed are then removed, too"
        ) from None


def _strike(index: Any, keys: Sequence[str]) -> list[str]:
    """Remove images from the index and return the names of files that held one image alone."""
    files: list[str] = []
    with claims.transaction(index):
        for start in range(0, len(keys), AT_ONCE):
            part = list(keys[start : start + AT_ONCE])
            marks = ",".join("?" * len(part))
            for table in ("images", "arrays"):
                query = f"SELECT file FROM {table} WHERE key IN ({marks}) AND file NOT NULL"  # noqa: S608 - a fixed name
                files += [row["file"] for row in index.execute(query, part)]
            for table in OF_IMAGES:
                index.execute(f"DELETE FROM {table} WHERE key IN ({marks})", part)  # noqa: S608
    return [name for name in files if is_relative(name) and not name.endswith(shards.ENDING)]


def _remove(folder: Path, name: str) -> int:
    file = folder / name
    try:
        size = file.stat().st_size
        file.unlink()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise StoreError(f"{file}: cannot be removed: {error.strerror or error}.") from None
    return size
