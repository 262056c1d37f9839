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
    [weights.domain]                # a CLIP with the domain of an object detector's weights
    mine = "weights/clip"
    [weights.crop]                  # what clip-enhance does outside of a person's box
    mine = "grey"

A model is a table ``[models.ALIAS]`` with ``path``, settings, and a suitable detector, encoder and
so on. The table of a diffusers pipeline may have these keys, too::

    [models.mine]
    path = "owner/pipeline"
    parts = {vae = "weights/my-vae"}     # parts taken from elsewhere: folders, hub ids, or
                                         # owner/name:FILE.safetensors with the base's config
    scheduler = "EulerDiscreteScheduler" # another scheduler of diffusers that fits the model
    scheduler_config = {timestep_spacing = "trailing"}  # settings that replace its own
    changes = "weights/tuned.safetensors"  # tensors, named part.weight, that replace its own
    max_sequence_length = 128            # tokens of the T5 of SD3 or FLUX
    rewrites = false                     # a pipeline's own rewriting of prompts is switched off
    calibrated = "my_package:prompts"    # module:factory of an object with protocols.Calibrated
    [models.mine.extra]                  # further arguments of the pipeline's __call__, which are
    guidance_rescale = 0.7               # part of its fingerprint
    lora = "weights/lora:0.8"            # a LoRA, folder, file or hub id, and its scale

The alias of a model behind HTTP may give the price of an image, and a table the prices of pictures
that a judge looks at, by its name without address and attributes::

    [models.ours]
    adapter = "openai"
    path = "our-model@http://127.0.0.1:8000/v1"
    price = "0.04 USD"
    most_seed = 999                      # the largest seed that the service takes
    [models.ours.extra]                  # further fields of each request to the service, which are
    quality = "high"                     # part of the model's fingerprint
    [judge_prices]
    "vlm:our-judge" = "0.001 USD"
    "face++" = "0.0005 USD"

A project's own catalogue is given with ``--t2i-catalogue FILE``, and overrides all others.

The alias of a detector with several parts, ``clip-enhance:mine``, stands for its entries in all
families: the CLIP, the face part, the person part, the weights of a part under the part's own name,
and the crop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pytest_t2i.adapters.registry import Registry, import_factory
from pytest_t2i.data import GenerationSettings, Money, Name
from pytest_t2i.errors import ConfigurationError, FileFormatError, blamed, shown
from pytest_t2i.files import stamp
from pytest_t2i.protocols import Calibrated, LoadOptions
from pytest_t2i.read_files import convert, read_toml
from pytest_t2i.settings import lora, merged, price

FACES = "faces"
"""Family of weights whose entries name a face detector."""
PERSONS = "persons"
"""Family whose entries name a person detector."""
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
    """Name of the registered factory that loads the model."""
    options: LoadOptions
    """Source, dtype and default settings of the model."""
    batch: int | None
    """Suitable batch size; None where it is not known."""
    detector: str | None = None
    """Suitable detector, used unless --t2i-detector names another."""
    encoder: str | None = None
    """Suitable encoder, for similarities in image space."""
    objects: str | None = None
    """Suitable object detector."""
    labels: str | None = None
    """Labelled images for detector evaluation, used unless --t2i-labels names others."""
    calibrated: str | None = None
    """``module:factory`` of an object with protocols.Calibrated, which names the prompts that the
    model is calibrated for; None for any prompt."""
    price: Money | None = None
    """Price of one image."""

    def calibration(self) -> Calibrated | None:
        """The prompts that the model is calibrated for; None for any.

        Raises ConfigurationError where the factory is absent or returns another object.
        """
        if self.calibrated is None:
            return None
        with blamed(ConfigurationError, "the factory", self.calibrated):
            calibration = import_factory(self.calibrated)()
        if not isinstance(calibration, Calibrated):
            raise ConfigurationError(
                f"[models.{self.alias}] calibrated: expected an object with "
                f"is_calibrated_for(prompt) from {self.calibrated!r}, got {shown(calibration)}"
            )
        return calibration


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All catalogues merged; a later one overrides an earlier one."""

    models: dict[str, ModelEntry]
    weights: dict[str, dict[str, str]]
    """Family -> alias -> hub id or folder."""
    judge_prices: dict[str, Money] = field(default_factory=dict)
    """Name of a judge, ``vlm:NAME`` or ``face++`` -> price of one judged picture."""

    def resolve_weights(self, family: str, name: str) -> str:
        """The hub id or folder behind an alias; a name that is no alias stays as it is."""
        return self.weights.get(family, {}).get(name, name)

    def resolve_part(self, family: str, name: str) -> tuple[str, dict[str, str]]:
        """Source of a part, and family -> weights for all families that have this alias.

        The source is "" for an alias that only other families have.

        >>> weights = {"clip": {"mine": "weights/clip"}, "yolo": {"mine": "weights/yolo.pt"}}
        >>> Catalogue({}, weights).resolve_part("clip", "mine")
        ('weights/clip', {'clip': 'weights/clip', 'yolo': 'weights/yolo.pt'})
        >>> Catalogue({}, weights).resolve_part("clip", "owner/name")
        ('owner/name', {})
        """
        parts = {f: aliases[name] for f, aliases in self.weights.items() if name in aliases}
        return parts.get(family, "" if parts else name), parts


def read_catalogues(registry: Registry, own: Path | None = None) -> Catalogue:
    """Merge every registered catalogue: the built-in first, the project's own last.

    Raises FileFormatError with the file and the key.
    """
    names = sorted(registry.names(), key=lambda name: (name != "papers", name))
    paths = [Path(registry.get(name)()) for name in names]
    models: dict[str, ModelEntry] = {}
    weights: dict[str, dict[str, str]] = {}
    judge_prices: dict[str, Money] = {}
    for path in [*paths, own] if own else paths:
        catalogue = convert(path, _tables(path, path.absolute(), stamp(path)), _File)
        for alias, plain in catalogue.models.items():
            models[alias] = _model_entry(path, alias, plain)
        for family, aliases in catalogue.weights.items():
            weights.setdefault(family, {}).update(_weights(path, family, aliases))
        for judge, plain in catalogue.judge_prices.items():
            judge_prices[judge] = _price(path, f"[judge_prices] {judge}", plain)
    return Catalogue(models, weights, judge_prices)


@lru_cache(maxsize=64)
def _tables(path: Path, _whole: Path, _stamp: str | None) -> dict[str, Any]:
    """The tables of a file, parsed once while its absolute path and its stamp stay the same."""
    return read_toml(path)


class _File(msgspec.Struct):
    """A catalogue file; other tables are ignored."""

    models: dict[str, Any] = {}
    weights: dict[str, Any] = {}
    judge_prices: dict[str, str] = {}


class _Model(msgspec.Struct, forbid_unknown_fields=True):
    """A table ``[models.ALIAS]``."""

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
    scheduler_config: dict[str, Any] = {}
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
    extra: dict[str, Any] = {}
    rewrites: bool | None = None
    price: str | None = None
    most_seed: Count | None = None


class _Weights(msgspec.Struct):
    """Weights given as a table: the path, and notes on their origin."""

    path: Name


def _model_entry(path: Path, alias: str, plain: Any) -> ModelEntry:
    where = f"[models.{alias}]"
    if not isinstance(plain, dict) or "path" not in plain:
        raise FileFormatError(path, "expected a table with a path.", where=where)
    model = convert(path, plain, _Model, where=where)
    call = {**model.extra}
    if model.max_sequence_length is not None:
        call["max_sequence_length"] = model.max_sequence_length
    _check_extra(path, where, model)
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
        "scheduler_config": model.scheduler_config or None,
        "parts": {name: _located(path, source) for name, source in model.parts.items()} or None,
        "changes": model.changes and _located(path, model.changes),
        "rewrites": model.rewrites,
        "most_seed": model.most_seed,
    }
    options = LoadOptions(
        source=_located(path, model.path),
        dtype=model.dtype,
        revision=model.revision,
        defaults=defaults,
        extra={key: value for key, value in further.items() if value is not None},
    )
    try:
        options = with_arguments(options, call, model.adapter)
    except ConfigurationError as error:
        raise FileFormatError(path, f"{error}.", where=f"{where} extra") from None
    if weights := options.extra.get(LORA):
        weights["source"] = _located(path, weights["source"])
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


OWN = {
    "num_inference_steps": "steps",
    "guidance_scale": "guidance",
    **{name: name for name in ("width", "height", "negative_prompt", "max_sequence_length")},
    **dict.fromkeys(("prompt", "generator", "output_type", "num_images_per_prompt"), ""),
}
"""Argument of a pipeline -> the key that sets it; "" for those that no key sets."""


PIPELINES = "diffusers"
"""The adapter of diffusers pipelines, which run on this machine."""
LORA = "lora"
"""Key of the weights that are added to those of a pipeline: their source and scale."""


def with_arguments(options: LoadOptions, given: Mapping[str, Any], adapter: str) -> LoadOptions:
    """Load options with further arguments of each call, which win, and a LoRA of a pipeline.

    Raises ConfigurationError for a LoRA without a source.
    """
    extra, call = dict(options.extra), merged(options.extra.get("call", {}), given)
    if adapter == PIPELINES and LORA in call:
        source, scale = lora(LORA, call.pop(LORA))
        extra[LORA] = {"source": source, "scale": scale}
    return replace(options, extra={**extra, **({"call": call} if call else {})})


OPTIONS = {
    "steps": "--t2i-steps",
    "guidance": "--t2i-guidance",
    **dict.fromkeys(("width", "height"), "--t2i-size"),
    "negative_prompt": "negative_prompt in the model's table of a catalogue",
}
"""Setting of a run -> where it is given."""


def check_option(given: Mapping[str, Any], adapter: str) -> None:
    """Raise ConfigurationError for arguments of a pipeline that go elsewhere."""
    reserved = OWN.keys() & given.keys() if adapter == PIPELINES else ()
    for name in sorted(set(reserved) - {"max_sequence_length"}):
        remedy = f"give {OPTIONS[OWN[name]]}" if OWN[name] else "the run sets it"
        raise ConfigurationError(
            f"--t2i-model-option: expected further arguments, got {name}: {remedy}"
        )


def _check_extra(path: Path, where: str, model: _Model) -> None:
    """Raise FileFormatError for arguments of a pipeline that go elsewhere."""
    if model.adapter != PIPELINES:
        return
    for name in OWN.keys() & model.extra.keys():
        remedy = f"Set {OWN[name]} in {where}" if OWN[name] else "The run sets it"
        problem = f"expected further arguments, got {name}."
        raise FileFormatError(path, problem, where=f"{where} extra", remedy=remedy)


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
    """``name:weights`` with the path of the weights resolved; a name alone is left unchanged."""
    name, colon, weights = source.partition(":")
    return f"{name}:{_located(toml, weights)}" if colon else source


def _located(toml: Path, source: str) -> str:
    """The absolute path of a file or folder beside the TOML file; any other text is a hub id."""
    try:
        beside = toml.absolute().parent / source
        return str(beside) if beside.exists() else source
    except OSError:  # too long for a path
        raise FileFormatError(toml, f"expected a path or hub id, got {shown(source)}.") from None
