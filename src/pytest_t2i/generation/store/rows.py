"""Convert images and detections to rows of the index, and read detections back."""

from __future__ import annotations

import json
import math
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_t2i.data import Detection, Undetected
from pytest_t2i.files import checksum, stamp
from pytest_t2i.generation.store.self_describing_png import Origin


def picture_file(key: str) -> str:
    """Path of the picture of a key, relative to the store."""
    return f"images/{key[:2]}/{key}.png"


def image_row(
    folder: Path,
    origin: Origin,
    content: bytes | None,
    size: tuple[int, int],
    refusal: str | None,
) -> tuple[Any, ...]:
    """A row of the table of images; content and file are None when the model refused."""
    file = None if content is None else picture_file(origin.key)
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
    try:
        scores = json.loads(row["scores"])
        undetected = Undetected(row["undetected"]) if row["undetected"] else None
        if not all(math.isfinite(score) for score in scores.values()):
            return None
        return Detection(row["label"], undetected, scores, row["detail"])
    except (ValueError, TypeError, AttributeError):
        return None
