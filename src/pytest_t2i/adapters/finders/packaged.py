"""Weights of the package face_recognition_models: found, and never imported.

Its code needs an old setuptools; its files are what is wanted.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from pytest_t2i.errors import MissingExtraError

PACKAGE = "face_recognition_models"
NAME = "mmod_human_face_detector.dat"
"""dlib's CNN face detector (CC0)."""


def packaged(name: str = NAME) -> Path:
    """A weights file of the package.

    Raises:
        MissingExtraError: the package is not installed.
    """
    try:
        files = distribution(PACKAGE)
    except PackageNotFoundError:
        # The path of the file will do as well: dlib-cnn:PATH, mmod:PATH.
        raise MissingExtraError(f"the file {name}", "clip-enhance", PACKAGE) from None
    return Path(str(files.locate_file(f"{PACKAGE}/models/{name}")))
