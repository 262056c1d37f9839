"""The shipped weights: opened as the catalogue has them, or copied into a work folder to go on from them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from diffusers import AutoencoderKL, DiffusionPipeline, UNet2DConditionModel
from safetensors.torch import load_file
from transformers import CLIPModel, CLIPTextModel, CLIPTokenizer

from training.settings import FLOWS, PIPELINES, WEIGHTS, Settings

CATALOGUE = WEIGHTS.parent / "catalogue.toml"


def start_from_shipped(settings: Settings) -> None:
    """Copy tokenizer, autoencoder, CLIP and denoisers, in single precision; what is there already is kept."""
    _copy(CLIPTokenizer.from_pretrained, WEIGHTS / "clip", settings.work / "tokenizer")
    _copy(CLIPModel.from_pretrained, WEIGHTS / "clip", settings.work / "clip")
    _copy(AutoencoderKL.from_pretrained, WEIGHTS / "reference" / "vae", settings.work / "vae")
    for world, folder in PIPELINES.items():
        _copy(UNet2DConditionModel.from_pretrained, WEIGHTS / folder / "unet", settings.work / f"unet-{world}")
        _copy(CLIPTextModel.from_pretrained, WEIGHTS / folder / "text_encoder", settings.work / f"texts-{world}")


def start_flows_from_shipped(settings: Settings) -> None:
    """Copy transformers and text encoders of the flow pipelines likewise."""
    for world, folder in FLOWS.items():
        pipeline = open_pipeline(WEIGHTS / folder)
        for part, name in (("transformer", "transformer"), ("text_encoder", "flow-texts")):
            target = settings.work / f"{name}-{world}"
            if not target.exists():
                getattr(pipeline, part).save_pretrained(target)


def _copy(load: Callable[[Path], Any], source: Path, target: Path) -> None:
    if target.exists():
        return
    loaded = load(source)
    if hasattr(loaded, "float"):
        loaded = loaded.float()
    loaded.save_pretrained(target)


def open_pipeline(folder: Path) -> Any:
    """A pipeline written by training, or a shipped one by the name that the catalogue has for it, parts and all."""
    models = tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["models"] if folder.parent == WEIGHTS else {}
    entry = models.get(folder.name, {"path": folder})
    root = CATALOGUE.parent / entry["path"]
    index = DiffusionPipeline.load_config(root)
    parts = {name: _part(index[name], CATALOGUE.parent / place) for name, place in entry.get("parts", {}).items()}
    absent = {name: None for name, kind in index.items() if kind == [None, None]}
    pipeline = DiffusionPipeline.from_pretrained(root, **absent, **parts)
    if pipeline.vae.config.shift_factor is None:
        pipeline.vae.register_to_config(shift_factor=0.0)
    for name, tensor in load_file(CATALOGUE.parent / entry["changes"]).items() if "changes" in entry else ():
        part, _, weight = name.partition(".")
        pipeline.components[part].get_parameter(weight).data.copy_(tensor)
    return pipeline.to(torch.float32)  # transformers keeps the half precision of files, diffusers does not


def _part(kind: list[str], folder: Path) -> Any:
    library, name = kind
    return getattr(import_module(library), name).from_pretrained(folder)


def place_of(folder: Path, part: str) -> Path:
    """Where a part of a pipeline lies: shared ones are those of ``reference``."""
    own = folder / part
    return own if own.exists() else WEIGHTS / "reference" / part
