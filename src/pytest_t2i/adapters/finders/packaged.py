"""Find weights in the package face_recognition_models, without importing the package.

The package's code needs an old setuptools; only its files are used. Without the package, dlib's own
file is used, which ``t2i detector fetch mmod`` downloads.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from pytest_t2i.adapters.fetching import fetched
from pytest_t2i.errors import MissingExtraError

PACKAGE = "face_recognition_models"
NAME = "mmod_human_face_detector.dat"
"""dlib's CNN face detector (CC0)."""


def packaged(name: str = NAME) -> Path:
    """Path of a weights file of the package, else of the downloaded file."""
    try:
        files = distribution(PACKAGE)
    except PackageNotFoundError:
        path = fetched("mmod") if name == NAME else None
        if path is not None:
            return path
        # The user may also give the path of the file: dlib-cnn:PATH, mmod:PATH.
        raise MissingExtraError(f"the file {name}", "clip-enhance", PACKAGE) from None
    return Path(str(files.locate_file(f"{PACKAGE}/models/{name}")))
