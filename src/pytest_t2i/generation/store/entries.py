"""What a store holds: entries, and their counts and sizes."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.data import FactKind, Generated, Request, Undetected
from pytest_t2i.generation.store.index import (
    NAME,
    check_store_has_index,
    connect_reading,
    store_error,
)
from pytest_t2i.generation.store.locks import living_owner
from pytest_t2i.generation.store.repair import check_is_store
from pytest_t2i.generation.store.rows import UNREAD, is_sealed, picture_place

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class StoredImage:
    """One stored image."""

    key: str
    folder: str | None
    """Folder of the store; None when the model refused."""
    sha256: str | None
    black: bool
    """Whether every pixel is black, as safety checkers leave a picture."""
    refusal: str | None
    size: tuple[int, int] = (0, 0)
    """Width and height in pixels."""

    @property
    def path(self) -> str | None:
        """Path of the picture as text, a tenth of the cost of a Path; None when refused."""
        return None if self.folder is None else f"{self.folder}/{picture_place(self.key)}"

    @property
    def file(self) -> Path | None:
        """The picture; None when the model refused to make it."""
        return None if self.path is None else Path(self.path)

    @property
    def undetected(self) -> Undetected | None:
        """Why the image needs no detector; None where it needs one."""
        if self.folder is None:
            broken = (self.refusal or "").startswith(Undetected.UNREADABLE)
            return Undetected.UNREADABLE if broken else Undetected.REFUSED
        return Undetected.BLACK_IMAGE if self.black else None


@dataclass(frozen=True, slots=True)
class StoredArray:
    """One stored trace or feature."""

    key: str
    name: str
    file: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class NewImage:
    """One image to be stored."""

    key: str
    model: str
    request: Request
    generated: Generated
    black: bool
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Traces by name; an empty array records that the model does not give this trace."""

    @property
    def revised_prompt(self) -> str | None:
        """The service's revised prompt as valid UTF-8; None where there is none, or no picture."""
        text = self.generated.revised_prompt
        if text is None or self.generated.image is None:
            return None
        return text.encode(errors="backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class ModelContents:
    """The images of one model."""

    name: str
    """The model's last name; else the first letters of its fingerprint."""
    images: int
    refused: int
    """Requests that the model refused: they have no picture."""
    unreadable: int
    """Requests that were answered with something else than a picture that can be read."""
    prompts: int


@dataclass(frozen=True, slots=True)
class Contents:
    """Counts of everything in a store."""

    models: tuple[ModelContents, ...]
    """Models, the one with the most images first."""
    detections: dict[str, int]
    """First letters of a detector's fingerprint -> number of its detections."""
    arrays: dict[str, int]
    """Name of a trace or feature -> number of arrays."""
    bytes: int
    """Size of all files, the index included."""
    user: str
    """A process that uses the store now, in words; "" where none does."""


def contents(folder: Path) -> Contents:
    """Count the rows of the index; no picture is read."""
    check_is_store(folder)
    check_store_has_index(folder)
    try:
        with closing(connect_reading(folder)) as index:
            index.row_factory = sqlite3.Row
            models = tuple(_model_contents(index, row) for row in index.execute(BY_MODEL))
            detections = {row["by"][:SHORT]: row["count"] for row in index.execute(BY_DETECTOR)}
            arrays = {row["by"]: row["count"] for row in index.execute(BY_ARRAY)}
    except sqlite3.DatabaseError as error:
        raise store_error(folder / NAME, error) from error
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Contents(models, detections, arrays, size, living_owner(folder))


SHORT = 12
"""Number of letters of a fingerprint that are shown."""
BY_MODEL = (
    "SELECT model, COUNT(file) AS images, COUNT(*) - COUNT(file) AS absent, "
    "COUNT(DISTINCT prompt) AS prompts FROM images GROUP BY model ORDER BY COUNT(*) DESC, model"
)
BY_DETECTOR = (
    "SELECT detector AS by, COUNT(*) AS count FROM detections GROUP BY detector "
    "ORDER BY COUNT(*) DESC, detector"
)
BY_ARRAY = "SELECT name AS by, COUNT(*) AS count FROM arrays GROUP BY name ORDER BY name"


def _model_contents(index: Any, row: Any) -> ModelContents:
    query = "SELECT * FROM facts WHERE name = ?"
    fact = index.execute(query, (FactKind.MODEL.of(row["model"]),)).fetchone()
    name = fact["value"].strip('"') if fact is not None and is_sealed(fact) else ""
    unread = f"SELECT COUNT(*) FROM {UNREAD} AND model = ?"  # noqa: S608 - fixed names
    (unreadable,) = index.execute(unread, (row["model"],)).fetchone()
    return ModelContents(
        name or row["model"][:SHORT],
        row["images"],
        row["absent"] - unreadable,
        unreadable,
        row["prompts"],
    )
