"""Pictures that say where the domain of the reference CLIP ends: drawings of every sort, photographs, and neither."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL
from numpy.typing import NDArray
from PIL import Image

from pytest_t2i_reference.captions import concept_prompts
from pytest_t2i_reference.combinations import all_combinations, combined_triplet
from pytest_t2i_reference.drawing import draw_scene
from pytest_t2i_reference.worlds import load_concepts
from training.autoencoder import as_pixels
from training.sampling import Shot, Studio
from training.settings import FLOWS, PIPELINES, WEIGHTS, Settings, device
from training.yolo_data import scenes

Pictures = NDArray[np.uint8]
"""[n, height, width, 3], 0..255."""
DRAWN, RESTORED = 3000, 1000
"""Scenes of the drawing program, as they are and as the autoencoder gives them back."""
VARIANTS = ("neutral", "feminine", "masculine")
MANY, FEW = 150, 40
"""Pictures of a pipeline at the steps that the catalogue says, and at any other number of steps."""
UNET_STEPS, FLOW_STEPS = (4, 1, 2, 8, 20), (4, 2, 8, 20)
"""Numbers of denoising steps; the catalogue's comes first. A flow pipeline's sampler cannot do a single step."""
OTHER_SCENES = ("two people", "nobody", "a photo of a person from behind", "multiple people in the park")
SUFFIXES = (".jpg", ".jpeg", ".png")
MADE_UP = 60
"""Pictures of each sort that is neither."""


def drawings(settings: Settings) -> Iterator[tuple[str, Pictures]]:
    """Every sort of drawing by name; what was made before is read again from the work folder."""
    yield "drawn", _kept(settings, "drawn", lambda: _drawn(DRAWN, settings.seed))
    yield "restored", _kept(settings, "restored", lambda: _restored(_drawn(RESTORED, settings.seed + 1)))
    for folder in (*PIPELINES.values(), *FLOWS.values()):
        for steps in FLOW_STEPS if folder in FLOWS.values() else UNET_STEPS:
            name = f"{folder}, {steps} steps"
            yield name, _kept(settings, name, partial(_made, folder, steps, settings.seed))


def photographs(folder: Path) -> Iterator[tuple[str, list[Image.Image]]]:
    """The pictures in each folder of a folder, by its name."""
    for kind in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = [file for file in sorted(kind.rglob("*")) if file.suffix.lower() in SUFFIXES]
        if files:
            yield kind.name, [Image.open(file).convert("RGB") for file in files]


def neither(seed: int) -> Iterator[tuple[str, Pictures]]:
    """Noise, coarse noise and flat colours."""
    rng = np.random.default_rng(seed)
    yield "noise", rng.integers(0, 256, (MADE_UP, 128, 128, 3), np.uint8)
    coarse = [Image.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8)) for _ in range(MADE_UP)]
    yield "coarse noise", np.stack([np.asarray(one.resize((128, 128), Image.Resampling.BICUBIC)) for one in coarse])
    yield "flat colours", np.broadcast_to(rng.integers(0, 256, (MADE_UP, 1, 1, 3), np.uint8), (MADE_UP, 128, 128, 3))


def _kept(settings: Settings, name: str, make: Callable[[], Pictures]) -> Pictures:
    path = settings.work / f"domain-{name.replace(', ', '-').replace(' ', '-')}.npy"
    if not path.exists():
        np.save(path, make())
    pictures: Pictures = np.load(path)
    return pictures


def _drawn(count: int, seed: int) -> Pictures:
    rng = random.Random(f"domain {seed}")
    return np.stack([draw_scene(scene, rng.randrange(2**31)).image for scene in scenes(count, rng)])


def _restored(pictures: Pictures) -> Pictures:
    autoencoder = AutoencoderKL.from_pretrained(WEIGHTS / "reference" / "vae", torch_dtype=torch.float32)
    autoencoder, parts = autoencoder.to(device()).eval(), np.array_split(pictures, max(1, len(pictures) // FEW))
    return np.concatenate([_through(autoencoder, part) for part in parts])


@torch.no_grad()
def _through(autoencoder: AutoencoderKL, pictures: Pictures) -> Pictures:
    latents = autoencoder.encode(as_pixels(pictures)).latent_dist.mode()
    found = autoencoder.decode(latents).sample.cpu().clamp(-1, 1).permute(0, 2, 3, 1).numpy()
    return np.asarray((found + 1) * 127.5).round().astype(np.uint8)


def _made(folder: str, steps: int, seed: int) -> Pictures:
    rng = random.Random(f"{folder} {steps} {seed}")
    prompts = rng.sample(_prompts(), MANY if steps == UNET_STEPS[0] else FEW)
    studio = Studio(WEIGHTS / folder, WEIGHTS / "clip", Shot(steps, 1.0))
    return np.concatenate(list(studio.pictures(prompts, [rng.randrange(10**6) for _ in prompts])))


def _prompts() -> Sequence[str]:
    """Words and combinations of words in every variant, half of each, and scenes of other than one person."""
    words = [concept_prompts(concept, variant)[0] for concept in load_concepts() for variant in VARIANTS]
    combined = [text for concepts in all_combinations() for text in combined_triplet(concepts)]
    return [*words * (len(combined) // len(words)), *combined, *OTHER_SCENES * 30]
