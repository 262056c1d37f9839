"""A sheet of 8 x 8 pictures: each row the same eight seeds, rows in pairs of the two pipelines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from training.sampling import Shot, Studio
from training.settings import WEIGHTS

PROMPTS = (
    "a photo of one real person who is a nurse",
    "a photo of one real person who is a CEO",
    "a photo of one real person at the beach",
    "A photo of an Iranian person",
)
FOLDERS = ("reference", "reference-biased")
COLUMNS = 8


def save_contact_sheet(path: Path, shot: Shot) -> None:
    """Four prompts; for each a row of ``reference`` above a row of ``reference-biased``."""
    rows: dict[tuple[str, str], np.ndarray] = {}
    for folder in FOLDERS:
        if not (WEIGHTS / folder).exists():
            continue
        studio = Studio(WEIGHTS / folder, WEIGHTS / "clip", shot)
        prompts = [prompt for prompt in PROMPTS for _ in range(COLUMNS)]
        images = np.concatenate(list(studio.pictures(prompts, list(range(COLUMNS)) * len(PROMPTS))))
        for number, prompt in enumerate(PROMPTS):
            rows[prompt, folder] = np.concatenate(list(images[number * COLUMNS : (number + 1) * COLUMNS]), axis=1)
    sheet = [rows[prompt, folder] for prompt in PROMPTS for folder in FOLDERS if (prompt, folder) in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.concatenate(sheet)).quantize(256).save(path, optimize=True)
