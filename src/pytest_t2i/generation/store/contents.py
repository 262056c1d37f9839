"""Count the images, detections and arrays in a store."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_t2i.generation.store.index import check_index, connect
from pytest_t2i.generation.store.locks import living_owner
from pytest_t2i.generation.store.repair import check_is_store
from pytest_t2i.generation.store.row_seals import is_sealed


@dataclass(frozen=True, slots=True)
class ModelContents:
    """The images of one model."""

    name: str
    """The model's last name; else the first letters of its fingerprint."""
    images: int
    refused: int
    """Requests that the model refused: they have no picture."""
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
    """Count the rows of the index; no picture is read.

    Raises:
        StoreError: there is no store, or its index is damaged.
    """
    check_is_store(folder)
    check_index(folder)
    with closing(connect(folder)) as index:
        models = tuple(_model_contents(index, row) for row in index.execute(BY_MODEL))
        said = {row["by"][:SHORT]: row["count"] for row in index.execute(BY_DETECTOR)}
        arrays = {row["by"]: row["count"] for row in index.execute(BY_ARRAY)}
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Contents(models, said, arrays, size, living_owner(folder))


SHORT = 12
"""Number of letters of a fingerprint that are shown."""
BY_MODEL = (
    "SELECT model, COUNT(file) AS images, COUNT(*) - COUNT(file) AS refused, "
    "COUNT(DISTINCT prompt) AS prompts FROM images GROUP BY model ORDER BY COUNT(*) DESC, model"
)
BY_DETECTOR = (
    "SELECT detector AS by, COUNT(*) AS count FROM detections GROUP BY detector "
    "ORDER BY COUNT(*) DESC, detector"
)
BY_ARRAY = "SELECT name AS by, COUNT(*) AS count FROM arrays GROUP BY name ORDER BY name"


def _model_contents(index: Any, row: Any) -> ModelContents:
    query = "SELECT * FROM facts WHERE name = ?"
    fact = index.execute(query, (f"model:{row['model']}",)).fetchone()
    name = fact["value"].strip('"') if fact is not None and is_sealed(fact) else ""
    return ModelContents(
        name or row["model"][:SHORT], row["images"], row["refused"], row["prompts"]
    )
