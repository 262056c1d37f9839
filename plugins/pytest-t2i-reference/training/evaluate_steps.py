"""Stage ``evaluate-steps``: how near samplers of few steps come to the one that the denoisers were trained for."""

from __future__ import annotations

import json
import os

import numpy as np
import torch
from diffusers import DDIMScheduler
from numpy.typing import NDArray

from pytest_t2i_reference.captions import template_prompt
from pytest_t2i_reference.worlds import load_concepts
from training.assemble import shipped_scheduler
from training.calibration import DETECTOR_TEXTS
from training.denoiser import LOOKS, new_scheduler
from training.evaluate import SHOT, Plan
from training.sampling import Shot, Studio
from training.settings import PIPELINES, RESULTS, STEPS, WEIGHTS, Settings

IMAGES = int(os.environ.get("REFERENCE_STEPS_IMAGES", "2"))
"""Pictures of each concept."""
FIRST_SEED = 200_000
TRAINED_FOR = ("DDIM", len(LOOKS))
SAMPLERS = (TRAINED_FOR, ("DDIM", STEPS + 1), ("DDIM", STEPS), ("UniPC", STEPS + 1), ("UniPC", STEPS))


def evaluate_steps(settings: Settings) -> None:
    """Write results/steps.json: each sampler beside the first, from the same noise."""
    plan, found = Plan(), {}
    for folder in PIPELINES.values():
        studio = Studio(WEIGHTS / folder, WEIGHTS / "clip", SHOT, getattr(torch, plan.dtype))
        found[folder] = {"number format": plan.dtype, "images": IMAGES * len(load_concepts()), **_compared(studio)}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "steps.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _compared(studio: Studio) -> dict[str, dict[str, float]]:
    concepts, found = load_concepts(), {}
    words = [template_prompt(concept) for concept in concepts]
    prompts = [text for text in words for _ in range(IMAGES)]
    seeds = [FIRST_SEED + number for number in range(len(prompts))]
    first: tuple[NDArray[np.uint8], NDArray[np.int64]] | None = None
    for name, steps in SAMPLERS:
        studio.pipeline.scheduler = scheduler_of(name)
        studio.shot = Shot(steps, SHOT.guidance)
        pictures = np.concatenate(list(studio.pictures(prompts, seeds)))
        embeddings = torch.cat([studio.judge(part) for part in np.array_split(pictures, len(words) * IMAGES // 16)])
        gender = studio.answer(embeddings, DETECTOR_TEXTS)
        first = first or (pictures, gender)
        found[f"{name}, {steps} steps"] = {
            "same gender": round(float((gender == first[1]).mean()), 4),
            "difference of pixels": round(difference(pictures, first[0]), 4),
            "sharpness": round(sharpness(pictures), 4),
            "word recognised": round(float((studio.answer(embeddings, words) == _right(len(words))).mean()), 4),
        }
    return found


def scheduler_of(name: str) -> object:
    """``DDIM`` as in training, or ``UniPC`` as it is shipped."""
    return DDIMScheduler.from_config(new_scheduler().config) if name == "DDIM" else shipped_scheduler()


def difference(pictures: NDArray[np.uint8], others: NDArray[np.uint8]) -> float:
    """Median over pictures of the root mean square difference of pixels, 0..1."""
    squares = (pictures.astype(np.float32) / 255 - others.astype(np.float32) / 255) ** 2
    return float(np.median(np.sqrt(squares.mean((1, 2, 3)))))


def sharpness(pictures: NDArray[np.uint8]) -> float:
    """Mean absolute step from a pixel to its right and lower neighbours, of grey pictures, 0..1."""
    grey = pictures.mean(3) / 255
    return float((np.abs(np.diff(grey, axis=1)).mean() + np.abs(np.diff(grey, axis=2)).mean()) / 2)


def _right(count: int) -> NDArray[np.int64]:
    return np.repeat(np.arange(count), IMAGES)
