"""Files of labels that other programs write: who reads one is said by its ending."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from pytest_t2i.adapters.registry import INSTALL, Registries
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.labels.label import Label

Reader = Callable[[Path], list[Label]]
"""Given the file. The images lie in its folder, to which their names are relative."""


def reader_of(file: Path) -> Reader | None:
    """Who reads a file with this ending; None where nobody is known to.

    Raises ConfigurationError where a companion does that is not installed: says how to install it.
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
