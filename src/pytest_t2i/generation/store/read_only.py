"""Rows of a store's index, which is only read: the hashes of its pictures."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pytest_t2i.generation.store.index import connect_reading

AT_ONCE = 500
"""Number of keys in one query."""

HASHES = "SELECT file, sha256 FROM images WHERE key IN ({keys}) AND file IS NOT NULL"


def picture_hashes(folder: Path, keys: Sequence[str]) -> dict[str, str]:
    """File of each picture -> its SHA-256 in the index; the pictures themselves are not read."""
    return {f"{folder}/{file}": sha256 for file, sha256 in query_rows(folder, HASHES, keys)}


def query_rows(folder: Path, query: str, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    """Result of a query for keys that only reads; empty where the index is absent or damaged."""
    rows: list[tuple[Any, ...]] = []
    try:
        with closing(connect_reading(folder)) as index:
            for start in range(0, len(keys), AT_ONCE):
                some = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(some))
                rows += index.execute(query.format(keys=marks), some)
    except sqlite3.Error:
        return []
    return rows
