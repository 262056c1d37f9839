"""Catalogues: aliases of models with their settings, and of detector weights, read from TOML.

A distribution adds one with an entry point of the group ``pytest_t2i.catalogues`` whose object
returns the path of a TOML file; paths in it are relative to that file::

    [weights.clip]                  # a family: the weights of the registered name clip
    mine = "weights/clip"           # alias = folder, file or hub id; used as clip:mine
    [weights.yolo]
    mine = "weights/person.pt"
    [weights.faces]                 # here an entry names a face part, name or name:weights
    mine = "yunet:weights/yunet.onnx"
    [weights.crop]                  # and here what clip-enhance does outside of a person's box
    mine = "grey"

An alias behind a detector that is put together, ``clip-enhance:mine``, stands for the entries of
all families that have it: its CLIP, its YOLO weights, its face part, its crop.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from pytest_t2i.adapters.registry import Registry
from pytest_t2i.data import GenerationSettings
from pytest_t2i.errors import FileFormatError
from pytest_t2i.files import read_toml
from pytest_t2i.protocols import LoadOptions

MODEL_KEYS = {"path", "steps", "guidance", "size", "width", "height", "negative_prompt", "dtype"}
MODEL_KEYS |= {
    "revision",
    "variant",
    "scheduler",
    "source",
    "adapter",
    "batch",
    "detector",
    "encoder",
    "labels",
}

FACES = "faces"
"""Family of weights whose entries name a face part."""
CROP = "crop"
"""Family whose entries name a way to crop."""


def papers() -> Path:
    """The built-in catalogue: the models that the papers measure."""
    return Path(str(files("pytest_t2i.adapters") / "catalogue.toml"))


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One alias for --t2i-model."""

    alias: str
    adapter: str
    """Registered model factory that loads it."""
    options: LoadOptions
    """Its source, dtype and default settings."""
    batch: int | None
    """Images per batch that suit it."""
    detector: str | None = None
    """Detector that suits it, used unless --t2i-detector says otherwise."""
    encoder: str | None = None
    """Encoder that suits it, for similarities in image space."""
    labels: str | None = None
    """Labelled images to try detectors on, used unless --t2i-labels says otherwise."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All catalogues together; a later one wins."""

    models: dict[str, ModelEntry]
    weights: dict[str, dict[str, str]]
    """Encoder family -> alias -> hub id or folder."""

    def resolve_weights(self, family: str, name: str) -> str:
        """The hub id or folder behind an alias; a name that is no alias stays as it is."""
        return self.weights.get(family, {}).get(name, name)


def read_catalogues(registry: Registry) -> Catalogue:
    """Every registered catalogue, the built-in first."""
    models: dict[str, ModelEntry] = {}
    weights: dict[str, dict[str, str]] = {}
    for name in sorted(registry.names(), key=lambda name: (name != "papers", name)):
        path = Path(registry.get(name)())
        table = read_toml(path)
        for alias, entry in table.get("models", {}).items():
            models[alias] = _model_entry(path, alias, entry)
        for family, aliases in table.get("weights", {}).items():
            weights.setdefault(family, {}).update(_weights(path, family, aliases))
    return Catalogue(models, weights)


def _model_entry(path: Path, alias: str, entry: Any) -> ModelEntry:
    where = f"[models.{alias}]"
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        raise FileFormatError(path, "expected a table with a path.", where=where)
    unknown = sorted(set(entry) - MODEL_KEYS)
    if unknown:
        known = ", ".join(sorted(MODEL_KEYS))
        raise FileFormatError(
            path, f"unknown key; known are {known}.", where=f"{where} {unknown[0]}"
        )
    size = entry.get("size")
    defaults = GenerationSettings(
        steps=entry.get("steps"),
        guidance=entry.get("guidance"),
        width=entry.get("width", size),
        height=entry.get("height", size),
        negative_prompt=entry.get("negative_prompt"),
    )
    options = LoadOptions(
        source=_located(path, entry["path"]),
        dtype=entry.get("dtype", "auto"),
        revision=entry.get("revision"),
        defaults=defaults,
        extra={key: entry[key] for key in ("variant", "scheduler") if key in entry},
    )
    return ModelEntry(
        alias,
        entry.get("adapter", "diffusers"),
        options,
        entry.get("batch"),
        entry.get("detector"),
        entry.get("encoder"),
        entry.get("labels"),
    )


def _weights(path: Path, family: str, aliases: Any) -> dict[str, str]:
    if not isinstance(aliases, dict):
        raise FileFormatError(
            path, "expected a table of alias = path.", where=f"[weights.{family}]"
        )
    located = {}
    for alias, entry in aliases.items():
        source = entry.get("path") if isinstance(entry, dict) else entry
        if not isinstance(source, str):
            raise FileFormatError(path, "expected a path.", where=f"[weights.{family}] {alias}")
        located[alias] = _weights_of(family, path, source)
    return located


def _weights_of(family: str, toml: Path, source: str) -> str:
    if family == CROP:
        return source
    return _face_part(toml, source) if family == FACES else _located(toml, source)


def _face_part(toml: Path, source: str) -> str:
    """``name:weights`` with the weights located; a name alone stays as it is."""
    name, colon, weights = source.partition(":")
    return f"{name}:{_located(toml, weights)}" if colon else source


def _located(toml: Path, source: str) -> str:
    """A folder beside the TOML file as an absolute path; anything else is a hub id."""
    beside = toml.parent / source
    return str(beside) if beside.exists() else source
