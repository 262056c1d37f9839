"""Label files of other programs: entry points register a reader for each file ending."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from pytest_t2i.adapters.registry import INSTALL, Registries
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.labels.label import Label

Reader = Callable[[Path], list[Label]]
"""A function from the path of a label file to its labels; names of images are relative to the
folder of the file."""


def reader_of(file: Path) -> Reader | None:
    """Return the registered reader for the ending of this file; None if no reader is known.

    Raises:
        ConfigurationError: a companion has the reader and is not installed; the message holds the
            command that installs it.
    """
    ending = file.suffix.lower().removeprefix(".")
    registry = Registries().label_files
    if ending in registry:
        return cast("Reader", registry.get(ending))
    if brings := INSTALL.get((registry.kind, ending)):
        raise ConfigurationError(
            f"{file}: labels in a .{ending} file are read by a companion that is not installed. "
            f"Run: {brings}"
        )
    return None
