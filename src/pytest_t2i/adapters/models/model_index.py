"""Read ``model_index.json``, the file that makes a folder a diffusers pipeline, without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_t2i.errors import FileFormatError, ModelLoadError
from pytest_t2i.read_files import parse_json, read_text

INDEX = "model_index.json"
MODULAR = "modular_model_index.json"
"""The index of a pipeline that is made of blocks."""


SHOWN = 5
"""Number of file names in a message before "and N more"."""


def is_modular_folder(folder: Path) -> bool:
    return (folder / MODULAR).is_file() and not (folder / INDEX).is_file()


def read_index(folder: Path) -> dict[str, Any]:
    """Read a pipeline's ``model_index.json``, or that of a modular one."""
    path = folder / (MODULAR if is_modular_folder(folder) else INDEX)
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
