"""Where a detector that is put together takes its parts from: CLIP, faces, persons by name.

An alias behind the detector's name (``clip-enhance:reference``) stands for one set of weights per
family of the catalogue: ``clip``, ``faces`` and ``persons``, whose entries name a part, the parts'
own names such as ``yolo``, and ``crop``, whose entry names a way to crop. Anything else behind the
name is the CLIP: a hub id, a folder, an open_clip name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

from pytest_t2i.adapters.encoders.contrastive import ContrastiveEncoder
from pytest_t2i.adapters.encoders.routing import load_contrastive
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.errors import MissingExtraError
from pytest_t2i.protocols import FaceDetector, LoadOptions, PersonDetector


def clip_part(options: LoadOptions) -> ContrastiveEncoder:
    """The CLIP of the alias, else of the source, else of the papers."""
    return load_contrastive(replace(options, source=options.source or _alias(options, "clip")))


def face_part(options: LoadOptions, default: str) -> FaceDetector:
    """The face part of the alias, else the default: as ``Registry.named`` takes it.

    Raises:
        UnknownNameError: no face part is registered under the name.
    """
    return cast("FaceDetector", _part(options, "face", default))


def person_part(options: LoadOptions, default: str = "yolo") -> PersonDetector:
    """The person part of the alias, else the default: as ``Registry.named`` takes it.

    Raises:
        UnknownNameError: no person part is registered under the name.
    """
    return cast("PersonDetector", _part(options, "person", default))


def _part(options: LoadOptions, kind: str, default: str) -> object:
    """A part by the family of its kind; its weights are named with it, or by its own family."""
    registry = _registries(options).of(kind)
    name, source = registry.named(_alias(options, f"{kind}s") or default)
    factory = registry.get(name)
    return factory(replace(options, source=source or _alias(options, name), extra={}))


@contextmanager
def whole(feature: str, extra: str) -> Iterator[None]:
    """A missing library of any part is told with the extra that brings all of them.

    Raises:
        MissingExtraError: a library is not installed.
    """
    try:
        yield
    except MissingExtraError as error:
        raise MissingExtraError(feature, extra, error.missing) from None


def named(part: str, facts: object) -> dict[str, str]:
    """A part's provenance under its role.

    >>> from types import SimpleNamespace
    >>> named("face", SimpleNamespace(provenance={"faces": "dlib-hog", "dlib": "20"}))
    {'face: faces': 'dlib-hog', 'face: dlib': '20'}
    """
    provenance: Mapping[str, str] = getattr(facts, "provenance", {})
    return {f"{part}: {name}": value for name, value in provenance.items()}


def crop_part(options: LoadOptions, default: str) -> str:
    """The name of the way to crop of the alias, else the default."""
    return _alias(options, "crop") or default


def _alias(options: LoadOptions, family: str) -> str:
    return str(options.extra.get("weights", {}).get(family, ""))


def _registries(options: LoadOptions) -> Registries:
    # A run hands on what its conftest.py files registered; a detector made by hand has the rest.
    return cast("Registries", options.extra.get("registries") or Registries())
