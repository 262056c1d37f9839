"""Digests of rows and pictures of a store, by which two stores are compared."""

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
"""Number of keys in one query."""


ROWS = (
    # Without stamp and checksum: a copied file has another modification time.
    "SELECT key, model, prompt, seed, settings, file, sha256, width, height, black, refusal, "
    "created FROM images WHERE key IN ({keys})",
    "SELECT key, text FROM revised_prompts WHERE key IN ({keys})",
    "SELECT key, detector, label, undetected, scores, detail FROM detections "
    "WHERE key IN ({keys}) ORDER BY key, detector",
)


HASHES = "SELECT file, sha256 FROM images WHERE key IN ({keys}) AND file IS NOT NULL"


DETECTOR = 1
"""Index of the detector's column in a row of the last query."""


def row_digests(folder: Path, keys: Sequence[str], detectors: Sequence[str]) -> dict[str, str]:
    """Key -> SHA-256 of the image's row and of its detections by these detectors.

    Rows of other detectors, which later runs may add, are left out. The index is only read; the
    result is empty where the index is absent or damaged.
    """
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for query in ROWS:
        for row in query_rows(folder, query, keys):
            if query is not ROWS[-1] or row[DETECTOR] in detectors:
                rows[row[0]].append(row)
    return {key: hashlib.sha256(repr(rows[key]).encode()).hexdigest() for key in rows}


def picture_hashes(folder: Path, keys: Sequence[str]) -> dict[Path, str]:
    """File of each picture -> its SHA-256 in the index; the pictures themselves are not read."""
    return {folder / file: sha256 for file, sha256 in query_rows(folder, HASHES, keys)}


def query_rows(folder: Path, query: str, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    """Result of a query for keys that only reads; empty where the index is absent or damaged."""
    rows: list[tuple[Any, ...]] = []
    try:
        with closing(_open(folder / NAME)) as index:
            for start in range(0, len(keys), AT_ONCE):
                some = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(some))
                rows += index.execute(query.format(keys=marks), some)
    except sqlite3.Error:
        return []
    return rows


def _open(file: Path) -> sqlite3.Connection:
    """Open an index for reading only, also on a read-only medium without SQLite's extra files."""
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
