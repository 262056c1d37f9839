"""Load the parts of a detector: its CLIP, face detector and person detector.

An alias behind the detector's name (``clip-enhance:reference``) stands for its entries in several
families of the catalogue: ``clip`` for weights, ``faces`` and ``persons`` for the names of parts, a
part's own name such as ``yolo`` for its weights, and ``crop`` for a way to crop. Any other text
behind the name is the CLIP: a hub id, a folder, or an open_clip name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from pytest_t2i.adapters.encoders.contrastive import ContrastiveEncoder
from pytest_t2i.adapters.encoders.routing import load_contrastive
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.protocols import FaceDetector, LoadOptions, PersonDetector


def clip_part(options: LoadOptions) -> ContrastiveEncoder:
    """Load the CLIP of the alias, else of the source, else the papers' CLIP."""
    return load_contrastive(replace(options, source=options.source or _alias(options, "clip")))


def face_part(options: LoadOptions, default: str) -> FaceDetector:
    """Load the face detector of the alias, else the default (a name for ``Registry.named``)."""
    return cast("FaceDetector", _part(options, "face", default))


def person_part(options: LoadOptions, default: str = "yolo") -> PersonDetector:
    """Load the person detector of the alias, else the default (a name for ``Registry.named``)."""
    return cast("PersonDetector", _part(options, "person", default))


def _part(options: LoadOptions, kind: str, default: str) -> object:
    """Load a part; its weights follow its name, or are in the family of the part's own name."""
    registry = _registries(options).of(kind)
    name, source = registry.named(_alias(options, f"{kind}s") or default)
    factory = registry.get(name)
    return factory(replace(options, source=source or _alias(options, name), extra={}))


def with_role(part: str, facts: object) -> dict[str, str]:
    """A part's provenance, with the part's role before each key.

    >>> from types import SimpleNamespace
    >>> with_role("face", SimpleNamespace(provenance={"faces": "dlib-hog", "dlib": "20"}))
    {'face: faces': 'dlib-hog', 'face: dlib': '20'}
    """
    provenance: Mapping[str, str] = getattr(facts, "provenance", {})
    return {f"{part}: {name}": value for name, value in provenance.items()}


def crop_part(options: LoadOptions, default: str) -> str:
    """The way to crop that the alias names, else the default."""
    return _alias(options, "crop") or default


def _alias(options: LoadOptions, family: str) -> str:
    return str(options.extra.get("weights", {}).get(family, ""))


def _registries(options: LoadOptions) -> Registries:
    # A run passes its registries on, with those of conftest.py files; else only entry points count.
    return cast("Registries", options.extra.get("registries") or Registries())
