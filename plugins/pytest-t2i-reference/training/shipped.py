"""Stage ``start-from-shipped``: fills a work folder from the shipped weights, so that training can go on from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from diffusers import AutoencoderKL, UNet2DConditionModel
from transformers import CLIPModel, CLIPTextModel, CLIPTokenizer

from training.settings import PIPELINES, WEIGHTS, Settings


def start_from_shipped(settings: Settings) -> None:
    """Copy tokenizer, autoencoder, CLIP and denoisers, in single precision; what is there already is kept."""
    _copy(CLIPTokenizer.from_pretrained, WEIGHTS / "clip", settings.work / "tokenizer")
    _copy(CLIPModel.from_pretrained, WEIGHTS / "clip", settings.work / "clip")
    _copy(AutoencoderKL.from_pretrained, WEIGHTS / "reference" / "vae", settings.work / "vae")
    for world, folder in PIPELINES.items():
        _copy(UNet2DConditionModel.from_pretrained, WEIGHTS / folder / "unet", settings.work / f"unet-{world}")
        _copy(CLIPTextModel.from_pretrained, WEIGHTS / folder / "text_encoder", settings.work / f"texts-{world}")


def _copy(load: Callable[[Path], Any], source: Path, target: Path) -> None:
    if target.exists():
        return
    loaded = load(source)
    if hasattr(loaded, "float"):
        loaded = loaded.float()
    loaded.save_pretrained(target)
