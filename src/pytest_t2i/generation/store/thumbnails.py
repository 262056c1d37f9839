"""Rows of thumbnails: each ties the small picture of a report to the picture that it was made from.

The small pictures are files in ``thumbnails/``. A row holds the SHA-256 of the picture and of the
small one, so that a thumbnail that was exchanged, cut short or written again is noticed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum
from pytest_t2i.generation.store import claims
from pytest_t2i.generation.store.index import NAME, connect, query_rows
from pytest_t2i.generation.store.rows import insert, is_sealed, picture_place

FOLDER = "thumbnails"
PICTURES = "SELECT key, sha256, stamp FROM images WHERE key IN ({keys}) AND file IS NOT NULL"
ROWS = "SELECT key, picture, sha256, seal FROM thumbnails WHERE key IN ({keys})"


class IndexedPicture(NamedTuple):
    """A picture as the index knows it."""

    sha256: str
    stamp: str


class ThumbnailRow(NamedTuple):
    """One thumbnail."""

    key: str
    picture: str
    """SHA-256 of the picture that it shows."""
    sha256: str
    """SHA-256 of its own file."""


def thumbnail_file(folder: Path, key: str) -> Path:
    """Path of the thumbnail of a key."""
    return folder / FOLDER / f"{key}.webp"


def store_of(file: Path) -> Path | None:
    """The store that holds a picture; None for a picture elsewhere.

    >>> store_of(Path("no store/images/ab/abcd.png")) is None
    True
    """
    if len(file.parents) <= 2 or picture_place(file.stem) != "/".join(file.parts[-3:]):  # noqa: PLR2004 - two folders up
        return None
    folder = file.parents[2]
    return folder if os.path.isfile(folder / NAME) else None  # noqa: PTH113 - no error for odd names


def origins(folder: Path, keys: Sequence[str]) -> dict[str, IndexedPicture]:
    """The pictures of these keys; empty where the index is absent or damaged."""
    return {
        key: IndexedPicture(sha256, stamp)
        for key, sha256, stamp in query_rows(folder, PICTURES, keys)
    }


def thumbnail_rows(folder: Path, keys: Sequence[str]) -> dict[str, ThumbnailRow]:
    """The intact rows of these keys; empty where the index is absent or damaged."""
    rows = query_rows(folder, ROWS, keys)
    return {row[0]: ThumbnailRow(*row[:-1]) for row in rows if is_sealed(row)}


def add_thumbnails(folder: Path, rows: Iterable[ThumbnailRow]) -> None:
    """Store the rows of thumbnails; where the store cannot be written, they are made again."""
    try:
        with closing(connect(folder)) as index, claims.transaction(index):
            insert(index, "thumbnails", list(rows))
    except StoreError:
        return


def damaged_thumbnails(folder: Path, index: sqlite3.Connection) -> tuple[list[Path], list[str]]:
    """Files that are not the thumbnail of their picture, and the keys without an intact one."""
    query = (
        "SELECT thumbnails.*, images.sha256 AS shown FROM thumbnails "
        "LEFT JOIN images ON images.key = thumbnails.key"
    )
    damaged, lost = [], []
    for row in index.execute(query):
        file = thumbnail_file(folder, row["key"])
        try:
            now = checksum(file.read_bytes())
        except FileNotFoundError:  # removed by hand: the next report makes it again
            lost.append(row["key"])
            continue
        except OSError as error:
            raise StoreError(f"{file}: cannot be read: {error.strerror or error}.") from None
        if (row["picture"], row["sha256"]) != (row["shown"], now):
            damaged.append(file)
            lost.append(row["key"])
    return damaged, lost
