"""What runs needed, noted in the store, and the rest removed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_t2i.errors import StoreError
from pytest_t2i.files import is_relative, write_whole
from pytest_t2i.generation.store import claims, shards
from pytest_t2i.generation.store.index import check_index, connect
from pytest_t2i.generation.store.repair import check_is_store, check_nobody_works

RUNS = "runs"
"""Folder in a store of what each run needed."""
ENDING = ".keys"
MOST_RUNS = 200
"""Notes that are kept; the oldest go first."""
AT_ONCE = 500
OF_IMAGES = ("images", "revised_prompts", "detections", "objects", "arrays")


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed, and what stays."""

    removed: int
    """Images."""
    bytes: int
    """Of their files, those of their traces and features, and of such as nothing names any more."""
    kept: int
    """Images that one of the last runs needs."""
    runs: int
    """Runs that were asked; fewer than wanted where there were no more."""


def name_of_run(own: str) -> str:
    """A name by which runs are sorted, those of one second, too.

    >>> name_of_run("ab12").endswith("-ab12")
    True
    """
    return f"{datetime.now(UTC).strftime('%Y%m%dT%H%M%S%f')}-{own}"


def note_needed(folder: Path, run: str, keys: Iterable[str]) -> None:
    """Keep which images a run needs; told again, it replaces what was told before."""
    content = zlib.compress("\n".join(sorted(keys)).encode(), level=1)
    write_whole(folder / RUNS / f"{run}{ENDING}", content)
    for old in _notes(folder)[:-MOST_RUNS]:
        old.unlink(missing_ok=True)


def prune(folder: Path, runs: int) -> Pruned:
    """Remove the images that none of the last runs needed, with all that is known of them.

    Features of pictures that people labelled stay. The index is changed first: a kill leaves
    files that nothing names, and never a name without its file.

    Args:
        folder: of the store.
        runs: how many of the last runs are asked, at least 1.

    Raises:
        StoreError: there is no store, a run works on it, or no run noted what it needs.
    """
    check_is_store(folder)
    check_index(folder)
    check_nobody_works(folder)
    notes = _notes(folder)
    if not notes:
        raise StoreError(
            f"{folder}: no run noted what it needs, so that nothing can be said to be of no use. "
            "Run the suites once with this version"
        )
    needed = {key for note in notes[-runs:] for key in _read(note)}
    with closing(connect(folder)) as index:
        known = [row["key"] for row in index.execute("SELECT key FROM images")]
        useless = [key for key in known if key not in needed]
        # A file of several arrays stays as long as one of them is needed.
        files = [*_strike(index, useless), *shards.unnamed(folder, index)]
        index.execute("VACUUM")
    freed = sum(_remove(folder, name) for name in files)
    for note in notes[:-runs]:
        note.unlink(missing_ok=True)
    asked = min(runs, len(notes))
    return Pruned(len(useless), freed, len(known) - len(useless), asked)


def _notes(folder: Path) -> list[Path]:
    return sorted((folder / RUNS).glob(f"*{ENDING}"))


def _read(note: Path) -> list[str]:
    try:
        return zlib.decompress(note.read_bytes()).decode().split("\n")
    except (OSError, zlib.error, UnicodeDecodeError) as error:
        raise StoreError(
            f"{note}: cannot be read ({error}), so that nothing can be said to be of no use. "
            "Remove it, and what that run alone needed goes too"
        ) from None


def _strike(index: Any, keys: Sequence[str]) -> list[str]:
    """Take images out of the index; the names of the files that were of one of them alone."""
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
