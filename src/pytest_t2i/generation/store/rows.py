"""Rows of the index: what they hold, their digests, and the seals that show a change."""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_t2i.data import Detection, Undetected
from pytest_t2i.files import checksum, stamp
from pytest_t2i.generation.store.self_describing_png import PictureOrigin

UNREAD = f"images WHERE file IS NULL AND refusal GLOB '{Undetected.UNREADABLE}*'"
"""Images that were answered with something else than a picture that can be read, for SQL."""


def picture_place(key: str) -> str:
    """Path of the picture of a key, relative to the store."""
    return f"images/{key[:2]}/{key}.png"


def image_row(
    folder: Path,
    origin: PictureOrigin,
    content: bytes | None,
    size: tuple[int, int],
    refusal: str | None,
) -> tuple[Any, ...]:
    """A row of the table of images; content and file are None when the model refused."""
    file = None if content is None else picture_place(origin.key)
    return (
        origin.key,
        origin.model,
        origin.prompt,
        origin.seed,
        json.dumps(dict(origin.settings)),
        file,
        None if content is None else checksum(content),
        None if file is None else stamp(folder / file),
        *size,
        int(origin.black),
        refusal,
        datetime.now(UTC).isoformat(timespec="seconds"),
    )


def detection_row(key: str, detector: str, detection: Detection) -> tuple[Any, ...]:
    """A row of the table of detections."""
    return (
        key,
        detector,
        detection.label,
        detection.undetected.value if detection.undetected else None,
        json.dumps(dict(detection.scores), allow_nan=False),
        detection.detail,
    )


def read_detection(row: sqlite3.Row) -> Detection | None:
    """The detection of a row; None where the row holds none."""
    return _detection(row["label"], row["undetected"], row["scores"], row["detail"])


@lru_cache(maxsize=256)
def _detection(label: str | None, reason: str | None, scores: str, detail: str) -> Detection | None:
    """The detection of these cells, one for all rows that say the same."""
    try:
        of_labels = json.loads(scores)
        undetected = Undetected(reason) if reason else None
        if not all(math.isfinite(score) for score in of_labels.values()):
            return None
        return Detection(label, undetected, of_labels, detail)
    except (ValueError, TypeError, AttributeError):
        return None


TABLES = (
    "images",
    "revised_prompts",
    "detections",
    "objects",
    "arrays",
    "pixels",
    "thumbnails",
    "facts",
)
"""Tables whose rows have a seal. Claims, which last for minutes, have none."""


def seal(row: Sequence[Any]) -> int:
    """CRC-32 of the values of a row without its seal: text, whole numbers, bytes and None.

    >>> seal(("aa", 1, None)) == seal(["aa", 1, None]), seal(("aa", 1)) == seal(("aa", 2))
    (True, False)
    """
    return zlib.crc32(repr(tuple(map(_plain, row))).encode())


def _plain(value: Any) -> Any:
    """A value as SQLite returns it: an instance of a subclass of str becomes a plain str."""
    return str.__str__(value) if isinstance(value, str) else value


def is_sealed(row: sqlite3.Row | tuple[Any, ...]) -> bool:
    """Whether a row of the index is unchanged since it was written."""
    *values, sealed = row
    # The same as seal() at a third of the time: values from the index are plain already.
    return bool(zlib.crc32(repr(tuple(values)).encode()) == sealed)


def insert(connection: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]]) -> None:
    """Insert or replace rows, each with its seal."""
    sealed = [(*row, seal(row)) for row in rows]
    if sealed:
        marks = ",".join("?" * len(sealed[0]))
        connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", sealed)  # noqa: S608 - a fixed name and question marks
