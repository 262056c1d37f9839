"""The pictures of a folder that people label, and a stamp of its labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_t2i.adapters.support.picture_files import picture_in
from pytest_t2i.files import inside, stamp
from pytest_t2i.labels.labels_csv import FILE_NAME

if TYPE_CHECKING:
    from PIL.Image import Image


def picture_file(folder: Path, file: str) -> Path | None:
    """Return the path of a picture; None if it is absent, or a link leads out of the folder.

    >>> picture_file(Path("nowhere"), "../a.png") is None
    True
    """
    return inside(folder, file)


def open_picture(file: Path) -> Image | None:
    """Open a picture as a viewer shows it: upright, on white, RGB; None if it cannot be read.

    >>> open_picture(Path("nowhere.png")) is None
    True
    """
    return picture_in(file)


def state_of(folder: Path) -> str | None:
    """Return a stamp that changes with every write of a folder's labels.csv; None without one.

    >>> state_of(Path("nowhere")) is None
    True
    """
    return stamp(folder / FILE_NAME)
