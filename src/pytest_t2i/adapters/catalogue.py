"""Catalogues: aliases of models with their settings, and of detector weights, read from TOML.

A distribution adds one with an entry point of the group ``pytest_t2i.catalogues`` whose object
returns the path of a TOML file; paths in it are relative to that file::

    [weights.clip]                  # a family: the weights of the registered name clip
    mine = "weights/clip"           # alias = folder, file or hub id; used as clip:mine
    [weights.yolo]
    mine = "weights/person.pt"
    [weights.faces]                 # here an entry names a face part, name or name:weights
    mine = "yunet:weights/yunet.onnx"
    [weights.persons]               # here a person part, where that is not yolo
    mine = "my-people:weights/people.onnx"
    [weights.domain]                # a CLIP that knows what pictures an object finder is made for
    mine = "weights/clip"
    [weights.crop]                  # and here what clip-enhance does outside of a person's box
    mine = "grey"

A model is ``[models.ALIAS]`` with ``path``, settings, and what suits it. Of a diffusers pipeline
it may say, too::

    [models.mine]
    path = "owner/pipeline"
    parts = {vae = "weights/my-vae"}     # parts taken from elsewhere: folders or hub ids
    changes = "weights/tuned.safetensors"  # tensors, named part.weight, that replace its own
    max_sequence_length = 128            # tokens of the T5 of SD3 or FLUX
    calibrated = "my_package:prompts"    # module:factory of what obeys protocols.Calibrated

A model behind HTTP is an alias, too, and says what an image costs::

    [models.ours]
    adapter = "openai"
    path = "our-model@http://127.0.0.1:8000/v1"
    price = "0.04 USD"

A project gives one with ``--t2i-catalogue FILE``, which wins over all others.

An alias behind a detector that is put together, ``clip-enhance:mine``, stands for the entries of
all families that have it: its CLIP, its face part, its person part, the weights of either by the
part's own name, its crop.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pytest_t2i.adapters.registry import Registry, import_factory
from pytest_t2i.data import GenerationSettings, Money, Name
from pytest_t2i.errors import ConfigurationError, FileFormatError, blamed, shown
from pytest_t2i.files import convert, read_toml
from pytest_t2i.protocols import Calibrated, LoadOptions
from pytest_t2i.settings import price

FACES = "faces"
"""Family of weights whose entries name a face part."""
PERSONS = "persons"
"""Family whose entries name a person part."""
PARTS = (FACES, PERSONS)
CROP = "crop"
"""Family whose entries name a way to crop."""
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
"""A whole number of at least 1."""


def papers() -> Path:
    """The built-in catalogue: the models that the papers measure."""
    return Path(__file__).with_name("catalogue.toml")


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
    objects: str | None = None
    """Object finder that suits it."""
    labels: str | None = None
    """Labelled images to try detectors on, used unless --t2i-labels says otherwise."""
    calibrated: str | None = None
    """``module:factory`` of what says which prompts it is calibrated for; None: any."""
    price: Money | None = None
    """Of one image."""

    def calibration(self) -> Calibrated | None:
        """What says which prompts the model is calibrated for; None: any.

        Raises ConfigurationError where the factory is absent or gives something else.
        """
        if self.calibrated is None:
            return None
        with blamed(ConfigurationError, "what makes", self.calibrated):
            made = import_factory(self.calibrated)()
        if not isinstance(made, Calibrated):
            raise ConfigurationError(
                f"[models.{self.alias}] calibrated: expected an object with "
                f"is_calibrated_for(prompt) from {self.calibrated!r}, got {shown(made)}"
            )
        return made


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All catalogues together; a later one wins."""

    models: dict[str, ModelEntry]
    weights: dict[str, dict[str, str]]
    """Encoder family -> alias -> hub id or folder."""

    def resolve_weights(self, family: str, name: str) -> str:
        """The hub id or folder behind an alias; a name that is no alias stays as it is."""
        return self.weights.get(family, {}).get(name, name)

    def resolve_part(self, family: str, name: str) -> tuple[str, dict[str, str]]:
        """Source of a part, and family -> weights of all that an alias stands for.

        An alias of other families only stands for weights of the parts, not for a source.

        >>> weights = {"clip": {"mine": "weights/clip"}, "yolo": {"mine": "weights/yolo.pt"}}
        >>> Catalogue({}, weights).resolve_part("clip", "mine")
        ('weights/clip', {'clip': 'weights/clip', 'yolo': 'weights/yolo.pt'})
        >>> Catalogue({}, weights).resolve_part("clip", "owner/name")
        ('owner/name', {})
        """
        parts = {f: aliases[name] for f, aliases in self.weights.items() if name in aliases}
        return parts.get(family, "" if parts else name), parts


def read_catalogues(registry: Registry, own: Path | None = None) -> Catalogue:
    """Every registered catalogue, the built-in first, and a project's own last.

    Raises FileFormatError that names the file and the key.
    """
    names = sorted(registry.names(), key=lambda name: (name != "papers", name))
    paths = [Path(registry.get(name)()) for name in names]
    models: dict[str, ModelEntry] = {}
    weights: dict[str, dict[str, str]] = {}
    for path in [*paths, own] if own else paths:
        catalogue = convert(path, read_toml(path), _File)
        for alias, plain in catalogue.models.items():
            models[alias] = _model_entry(path, alias, plain)
        for family, aliases in catalogue.weights.items():
            weights.setdefault(family, {}).update(_weights(path, family, aliases))
    return Catalogue(models, weights)


class _File(msgspec.Struct):
    """A catalogue; further tables are left to others."""

    models: dict[str, Any] = {}
    weights: dict[str, Any] = {}


class _Model(msgspec.Struct, forbid_unknown_fields=True):
    """A table ``[models.ALIAS]``.

    Over 20 fields: each is a key that a table may have.
    """

    path: Name
    steps: Count | None = None
    guidance: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None
    size: Count | None = None
    width: Count | None = None
    height: Count | None = None
    negative_prompt: str | None = None
    dtype: str = "auto"
    revision: str | None = None
    variant: str | None = None
    scheduler: str | None = None
    source: str = ""
    adapter: str = "diffusers"
    batch: Count | None = None
    detector: str | None = None
    encoder: str | None = None
    objects: str | None = None
    labels: str | None = None
    calibrated: str | None = None
    parts: dict[str, str] = {}
    changes: str | None = None
    max_sequence_length: Count | None = None
    price: str | None = None


class _Weights(msgspec.Struct):
    """Weights with more than their path: where they come from."""

    path: Name


def _model_entry(path: Path, alias: str, plain: Any) -> ModelEntry:
    where = f"[models.{alias}]"
    if not isinstance(plain, dict) or "path" not in plain:
        raise FileFormatError(path, "expected a table with a path.", where=where)
    model = convert(path, plain, _Model, where=where)
    defaults = GenerationSettings(
        steps=model.steps,
        guidance=model.guidance,
        width=model.width or model.size,
        height=model.height or model.size,
        negative_prompt=model.negative_prompt,
    )
    further = {
        "variant": model.variant,
        "scheduler": model.scheduler,
        "parts": {name: _located(path, source) for name, source in model.parts.items()} or None,
        "changes": model.changes and _located(path, model.changes),
        "call": model.max_sequence_length and {"max_sequence_length": model.max_sequence_length},
    }
    options = LoadOptions(
        source=_located(path, model.path),
        dtype=model.dtype,
        revision=model.revision,
        defaults=defaults,
        extra={key: value for key, value in further.items() if value is not None},
    )
    return ModelEntry(
        alias,
        model.adapter,
        options,
        model.batch,
        detector=model.detector,
        encoder=model.encoder,
        objects=model.objects,
        labels=model.labels,
        calibrated=model.calibrated,
        price=None if model.price is None else _price(path, where, model.price),
    )


def _price(path: Path, where: str, text: str) -> Money:
    try:
        return price("price", text)
    except ConfigurationError as error:
        raise FileFormatError(path, f"{error}.", where=where) from None


def _weights(path: Path, family: str, aliases: Any) -> dict[str, str]:
    where = f"[weights.{family}]"
    if not isinstance(aliases, dict):
        raise FileFormatError(path, "expected a table of alias = path.", where=where)
    located = {}
    for alias, plain in aliases.items():
        if not isinstance(plain, str | dict):
            problem = f"expected a path, got {shown(plain)}."
            raise FileFormatError(path, problem, where=f"{where} {alias}")
        entry = convert(path, plain, Name | _Weights, where=f"{where} {alias}")  # type: ignore[arg-type]
        located[alias] = _weights_of(family, path, entry if isinstance(entry, str) else entry.path)
    return located


def _weights_of(family: str, toml: Path, source: str) -> str:
    if family == CROP:
        return source
    return _named_part(toml, source) if family in PARTS else _located(toml, source)


def _named_part(toml: Path, source: str) -> str:
    """``name:weights`` with the weights located; a name alone stays as it is."""
    name, colon, weights = source.partition(":")
    return f"{name}:{_located(toml, weights)}" if colon else source


def _located(toml: Path, source: str) -> str:
    """A folder beside the TOML file as an absolute path; anything else is a hub id."""
    try:
        beside = toml.absolute().parent / source
        return str(beside) if beside.exists() else source
    except OSError:  # too long for a path
        raise FileFormatError(toml, f"expected a path or hub id, got {shown(source)}.") from None
