"""Weights of the package face_recognition_models: found, and never imported.

Its code needs an old setuptools; its files are what is wanted. Without it dlib's own file will do,
which ``t2i fetch mmod`` brings.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from pytest_t2i.adapters.published_weights import fetched
from pytest_t2i.errors import MissingExtraError

PACKAGE = "face_recognition_models"
NAME = "mmod_human_face_detector.dat"
"""dlib's CNN face detector (CC0)."""


def packaged(name: str = NAME) -> Path:
    """A weights file of the package; without it the fetched one.

    Raises:
        MissingExtraError: neither is on this machine.
    """
    try:
        files = distribution(PACKAGE)
    except PackageNotFoundError:
        path = fetched("mmod") if name == NAME else None
        if path is not None:
            return path
        # The path of the file will do as well: dlib-cnn:PATH, mmod:PATH.
        raise MissingExtraError(f"the file {name}", "clip-enhance", PACKAGE) from None
    return Path(str(files.locate_file(f"{PACKAGE}/models/{name}")))
