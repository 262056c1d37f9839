"""A tiny world: pictures whose left half says the content and whose right half says the style."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

CONTENTS = {f"a {name}": k for k, name in enumerate(("nurse", "judge", "baker", "pilot", "clerk"))}
STYLES = {"night": 0, "sepia": 1, "line": 2}
ENCODER = f"{__name__}:Halves"


class Halves:
    """Means of both halves, and the same of their squares: content and style lie side by side."""

    fingerprint = "halves-1"

    def __init__(self, options=None):
        self.asked = 0

    def encode(self, images: Sequence[Image.Image]) -> np.ndarray:
        self.asked += len(images)
        rows = []
        for image in images:
            grey = np.asarray(image.convert("RGB"), dtype=np.float32) / 255
            halves = grey[:, :4].mean((0, 1)), grey[:, 4:].mean((0, 1))
            rows.append(np.concatenate([*halves, *(half**2 for half in halves)]))
        return np.array(rows, np.float32)


def picture(content: str, style: str, seed: int) -> Image.Image:
    """8 x 8 pixels."""
    rng = np.random.default_rng([CONTENTS[content], STYLES[style], seed])
    colours = np.random.default_rng(0).uniform(40, 215, (9, 3))
    pixels = np.empty((8, 8, 3))
    pixels[:, :4], pixels[:, 4:] = colours[CONTENTS[content]], colours[5 + STYLES[style]]
    return Image.fromarray(
        np.clip(pixels + rng.normal(0, 12, pixels.shape), 0, 255).astype(np.uint8)
    )


def folder(at: Path, images: int = 4, contents=tuple(CONTENTS), styles=tuple(STYLES)) -> str:
    """A folder of all contents in all styles; what ``--model`` takes."""
    at.mkdir(parents=True, exist_ok=True)
    with (at / "manifest.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("file", "prompt", "seed"))
        for content in contents:
            for style in styles:
                for k in range(images):
                    name = f"{content}-{style}-{k}.png".replace(" ", "-")
                    picture(content, style, k).save(at / name)
                    rows.writerow((name, f"{content}, {style}", k))
    return f"images:{at}"
