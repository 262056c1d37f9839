"""Read ``model_index.json``, the file that makes a folder a diffusers pipeline, without torch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_t2i.errors import FileFormatError, ModelLoadError, some
from pytest_t2i.files import parse_json, read_text

INDEX = "model_index.json"
SHOWN = 5
"""Number of file names in a message before "and N more"."""


def check_index(folder: Path) -> None:
    """Check that a folder is that of a pipeline.

    Raises:
        ModelLoadError: the folder is absent or not that of a pipeline.
    """
    if not folder.is_dir():
        kind = "is a file, not a folder" if folder.exists() else "does not exist"
        raise ModelLoadError(
            f"{folder} {kind}. Give a folder written by save_pretrained, or a hub id "
            "such as 'owner/name'."
        )
    if not (folder / INDEX).is_file():
        names = sorted(path.name for path in folder.iterdir())
        raise ModelLoadError(
            f"{folder}: expected a diffusers pipeline with {INDEX}, found "
            f"{some(names, SHOWN) or 'nothing'}. Write one with pipeline.save_pretrained(folder)."
        )
    read_index(folder)


def read_index(folder: Path) -> dict[str, Any]:
    """Read a pipeline's ``model_index.json``.

    Raises:
        ModelLoadError: the file is not JSON, or names no pipeline class.
    """
    path = folder / INDEX
    try:
        index = parse_json(path, read_text(path))
    except FileFormatError as error:
        raise ModelLoadError(str(error)) from None
    if not isinstance(index, dict) or not isinstance(index.get("_class_name"), str | list):
        raise ModelLoadError(
            f"{path}: expected the name of a pipeline class under the key _class_name, got none. "
            "Write the folder again with pipeline.save_pretrained(folder)."
        )
    return index


def components(index: dict[str, Any]) -> Iterator[str]:
    """Names of the parts in a pipeline's index."""
    for name, value in index.items():
        if not name.startswith("_") and isinstance(value, list) and value and value[0]:
            yield name
