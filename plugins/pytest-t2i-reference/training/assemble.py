"""Stage ``assemble``: what was trained, in the hub's folder layout and in half precision."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
from diffusers import AutoencoderKL, StableDiffusionPipeline, UNet2DConditionModel, UniPCMultistepScheduler
from transformers import CLIPModel, CLIPTextModel, CLIPTokenizer

from training.denoiser import new_scheduler
from training.tokenizer import write_for_version_4

PREPROCESSOR = {
    "image_processor_type": "CLIPImageProcessor",
    "do_convert_rgb": True,
    "do_resize": True,
    "size": {"shortest_edge": 128},
    "resample": 3,
    "do_center_crop": True,
    "crop_size": {"height": 128, "width": 128},
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
}


SCHEDULE = (
    "num_train_timesteps",
    "beta_start",
    "beta_end",
    "beta_schedule",
    "prediction_type",
    "rescale_betas_zero_snr",
    "timestep_spacing",
    "steps_offset",
)
"""What sampling has to share with training."""


def shipped_scheduler() -> UniPCMultistepScheduler:
    """What pictures are made with: UniPC (Zhao et al. 2023) comes as near in four steps as DDIM does in ten."""
    learned = new_scheduler().config
    return UniPCMultistepScheduler(**{name: learned[name] for name in SCHEDULE})


def save_pipeline(folder: Path, work: Path, denoiser: UNet2DConditionModel, texts: Path | None = None) -> None:
    """Write a StableDiffusionPipeline with the shared autoencoder and tokenizer, and the text encoder of ``texts``.

    Without ``texts`` the text encoder is that of the CLIP model.
    """
    pipeline = StableDiffusionPipeline(
        vae=AutoencoderKL.from_pretrained(work / "vae"),
        text_encoder=CLIPTextModel.from_pretrained(texts or work / "clip"),
        tokenizer=CLIPTokenizer.from_pretrained(work / "tokenizer"),
        unet=denoiser,
        scheduler=shipped_scheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.to(torch.float16).save_pretrained(folder)
    write_for_version_4(folder / "tokenizer")
    forget_origins(folder)


def save_texts(folder: Path, encoder: CLIPTextModel) -> None:
    """Write a text encoder alone."""
    encoder.half().save_pretrained(folder)
    forget_origins(folder)


def save_denoiser(folder: Path, denoiser: UNet2DConditionModel) -> None:
    """Write a denoiser alone."""
    denoiser.half().save_pretrained(folder)
    forget_origins(folder)


def save_clip(folder: Path, work: Path) -> None:
    """Write the reference CLIP with its tokenizer and image processor."""
    CLIPModel.from_pretrained(work / "clip").half().save_pretrained(folder)
    CLIPTokenizer.from_pretrained(work / "tokenizer").save_pretrained(folder)
    write_for_version_4(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(PREPROCESSOR, indent=2) + "\n", encoding="utf-8")
    forget_origins(folder)


SHARED = ("vae", "tokenizer")
"""Parts that all pipelines have in common: the catalogue takes them from the folder of ``reference``."""


def forget_copies(folder: Path, original: Path) -> None:
    """Remove the shared parts of a pipeline that lie in ``original`` as well."""
    for part in SHARED:
        if (folder / part).exists() and (original / part).exists():
            shutil.rmtree(folder / part)


ORIGINS = {"_name_or_path", "name_or_path", "is_local", "local_files_only"}
"""What configurations note about the folder they were loaded from: of no use to anybody else."""


def forget_origins(folder: Path) -> None:
    """Strip ``ORIGINS`` and let everybody read the files."""
    for path in folder.rglob("*.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and ORIGINS & set(content):
            content = {key: value for key, value in content.items() if key not in ORIGINS}
            path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    for path in folder.rglob("*.safetensors"):
        path.chmod(0o644)
