"""Drawn scenes as a data set that ultralytics trains on."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers import AutoencoderKL
from numpy.typing import NDArray
from PIL import Image

from pytest_t2i_reference.drawing import Drawing, draw_scene
from pytest_t2i_reference.drawing.attributes import Scene
from pytest_t2i_reference.worlds import draw_scene_of, load_concepts, load_world, plain_scene
from training.autoencoder import as_pixels
from training.progress import Progress
from training.settings import WEIGHTS, Settings, device, mixed_precision

SHARES = {"one": 0.3, "concept": 0.2, "two": 0.25, "none": 0.15, "behind": 0.1}
"""Kinds of scenes; ``concept`` is one person of a word of the balanced world."""
RESTORED = 0.4
"""Share of pictures that went through the autoencoder, as every generated picture did."""


@dataclass(frozen=True, slots=True)
class Data:
    """What is drawn and how it is labelled."""

    images: dict[str, int]
    """Split to number of scenes."""
    classes: tuple[str, ...]
    """Class number to name."""
    labels: Callable[[Drawing], list[str]]
    """The lines of a label file."""
    changed: Callable[[Scene, random.Random], Scene] = lambda scene, rng: scene
    """What is made of scenes to train on; those to judge by stay as they are."""


def scenes_for(what: str, data: Data, seed: str, settings: Settings) -> Path:
    """The folder of a data set; it is drawn unless it is there."""
    folder = settings.work / what
    if not (folder / "data.yaml").exists():
        autoencoder = AutoencoderKL.from_pretrained(WEIGHTS / "reference" / "vae").to(device()).eval()
        write_scenes(folder, data, seed, autoencoder)
    return folder


def scenes(count: int, rng: random.Random) -> Iterator[Scene]:
    """Scenes of every kind by ``SHARES``."""
    concepts, world = load_concepts(), load_world("balanced")
    for kind in rng.choices(list(SHARES), list(SHARES.values()), k=count):
        yield draw_scene_of(rng.choice(concepts), world, rng) if kind == "concept" else plain_scene(kind, rng)


def write_scenes(folder: Path, data: Data, seed: str, autoencoder: AutoencoderKL | None) -> None:
    """A data set in ultralytics' layout: images/, labels/, data.yaml."""
    for split, count in data.images.items():
        rng = random.Random(f"{seed}-{split}")
        progress = Progress(f"scenes for {split}", count)
        for part in ("images", "labels"):
            (folder / part / split).mkdir(parents=True, exist_ok=True)
        for number, scene in enumerate(scenes(count, rng)):
            shown = data.changed(scene, rng) if split == "train" else scene
            drawing = draw_scene(shown, rng.randrange(2**31))
            restored = autoencoder is not None and rng.random() < RESTORED
            picture = _restored(drawing.image, autoencoder) if restored else drawing.image
            Image.fromarray(picture).save(folder / "images" / split / f"{number:05}.png")
            text = "\n".join(data.labels(drawing))
            (folder / "labels" / split / f"{number:05}.txt").write_text(text, encoding="utf-8")
            progress.at(number + 1)
    names = "".join(f"  {number}: {name}\n" for number, name in enumerate(data.classes))
    described = f"path: {folder.resolve()}\ntrain: images/train\nval: images/val\nnames:\n{names}"
    (folder / "data.yaml").write_text(described, encoding="utf-8")


@torch.no_grad()
def _restored(image: NDArray[np.uint8], autoencoder: Any) -> NDArray[np.uint8]:
    with mixed_precision():
        latent = autoencoder.encode(as_pixels(image[None])).latent_dist.mode()
        picture = autoencoder.decode(latent).sample[0].float().cpu()
    as_bytes = ((picture.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8)
    found: NDArray[np.uint8] = as_bytes.permute(1, 2, 0).numpy()
    return found
