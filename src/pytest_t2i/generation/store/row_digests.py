"""Hashes of what a store's index says of pictures: the same in every copy of the store."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from pytest_t2i.generation.store.index import NAME

AT_ONCE = 500
"""Keys of one query."""
ROWS = (
    # Without stamp and seal: a copy of a picture has another time.
    "SELECT key, model, prompt, seed, settings, file, sha256, width, height, black, refusal, "
    "created FROM images WHERE key IN ({keys})",
    "SELECT key, text FROM revised_prompts WHERE key IN ({keys})",
    "SELECT key, detector, label, undetected, scores, detail FROM detections "
    "WHERE key IN ({keys}) ORDER BY key, detector",
)
HASHES = "SELECT file, sha256 FROM images WHERE key IN ({keys}) AND file IS NOT NULL"
DETECTOR = 1
"""Column of the detector in a row of the last query."""


def row_digests(folder: Path, keys: Sequence[str], detectors: Sequence[str]) -> dict[str, str]:
    """Key -> SHA-256 of its rows: what the image is of, and what these detectors say of it.

    Rows of other detectors, which later runs add, play no part. The index is only read; {} where
    it is absent or damaged.
    """
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for query in ROWS:
        for row in _rows(folder, query, keys):
            if query is not ROWS[-1] or row[DETECTOR] in detectors:
                rows[row[0]].append(row)
    return {key: hashlib.sha256(repr(rows[key]).encode()).hexdigest() for key in rows}


def picture_hashes(folder: Path, keys: Sequence[str]) -> dict[Path, str]:
    """Pictures of these keys -> SHA-256 as they were written; nothing is read but the index."""
    return {folder / file: sha256 for file, sha256 in _rows(folder, HASHES, keys)}


def _rows(folder: Path, query: str, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    """What a query finds of keys; nothing where the index is absent or damaged."""
    found: list[tuple[Any, ...]] = []
    try:
        with closing(_open(folder / NAME)) as index:
            for start in range(0, len(keys), AT_ONCE):
                some = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(some))
                found += index.execute(query.format(keys=marks), some)
    except sqlite3.Error:
        return []
    return found


def _open(file: Path) -> sqlite3.Connection:
    """Read only; of a medium that cannot be written, too, where SQLite would make files beside."""
    if not file.is_file():
        raise sqlite3.OperationalError(f"no index {file}")
    for how in ("mode=ro", "immutable=1"):
        index = sqlite3.connect(f"{file.absolute().as_uri()}?{how}", uri=True)
        index.text_factory = partial(str, encoding="utf-8", errors="backslashreplace")
        try:
            index.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            index.close()
            continue
        return index
    raise sqlite3.OperationalError(f"{file} cannot be read")
