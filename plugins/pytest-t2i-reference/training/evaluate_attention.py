"""Stage ``evaluate-attention``: whether the attention to a word lies where the object finder sees its object."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from pytest_t2i import ObjectFinder, metrics, statistics
from pytest_t2i.adapters.models.attention import observed, word_maps
from pytest_t2i.adapters.models.prompt_embeddings import family_of
from pytest_t2i.audits.dependencies.groups import word_mask
from pytest_t2i.prompts.words_in_prompts import attention_words

from training.evaluate import ATTENTION, SHOT, Plan
from training.finder import object_finder
from training.sampling import Studio
from training.settings import FLOWS, PIPELINES, WEIGHTS, Settings

PROMPTS = {
    "hat": "a photo of one real person wearing a hat",
    "sombrero": "a photo of one real person wearing a sombrero",
    "book": "a photo of a person holding a book",
    "cup": "a photo of a person holding a cup",
    "laptop": "a photo of a person holding a laptop",
    "person": "a photo of a person",
}
"""Word to a prompt that names it."""
IMAGES = int(os.environ.get("REFERENCE_ATTENTION_IMAGES", "24"))
"""Pictures of each prompt."""
FIRST_SEED = 400_000
"""No other evaluation and no calibration reaches seeds from here on."""
PLACES = 200
"""At which a mask is laid at random, for each picture."""
LEVEL = 0.95
Mask = NDArray[np.bool_]


def evaluate_attention(settings: Settings) -> None:
    """Write results/attention.json: of the balanced UNet pipeline and of the balanced flow pipeline."""
    finder = object_finder()
    result = {
        folder: attention_of(Studio(WEIGHTS / folder, WEIGHTS / "clip", SHOT, getattr(torch, Plan().dtype)), finder)
        for folder in (PIPELINES["balanced"], FLOWS["balanced"])
    }
    ATTENTION.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def attention_of(studio: Studio, finder: ObjectFinder, images: int = IMAGES) -> Mapping[str, Mapping[str, object]]:
    """Word to the pictures in which its object was seen, and those whose mask covers more of it than by chance."""
    rng = np.random.default_rng(FIRST_SEED)
    return {word: _counted(_pictures(studio, finder, word, prompt, images), rng) for word, prompt in PROMPTS.items()}


def covered_by_chance(region: Mask, mask: Mask, rng: np.random.Generator, places: int = PLACES) -> float:
    """Mean share of ``region`` that ``mask`` covers where it is laid at random.

    What leaves the picture on one side comes in on the other.

    >>> covered_by_chance(np.eye(4, dtype=bool), np.ones((4, 4), bool), np.random.default_rng(0))
    1.0
    """
    shifts = rng.integers(region.shape, size=(places, 2))
    return float(np.mean([metrics.coverage(region, np.roll(mask, shift, (0, 1))) for shift in shifts]))


def _pictures(studio: Studio, finder: ObjectFinder, word: str, prompt: str, images: int) -> Sequence[tuple[Mask, Mask]]:
    """Of each picture with the object: where it is, and where its word was looked at."""
    family, prompts = family_of(studio.pipeline), [prompt] * images
    if family is None:
        raise ValueError(f"attention of {type(studio.pipeline).__name__} cannot be told by words")
    with torch.no_grad(), observed(studio.pipeline, images) as sums:
        made = studio.pipeline(
            prompts,
            generator=[torch.Generator().manual_seed(FIRST_SEED + number) for number in range(images)],
            num_inference_steps=studio.shot.steps,
            guidance_scale=studio.shot.guidance,
            **studio.further,
        ).images
    if sums is None:
        raise ValueError(f"{type(studio.pipeline).__name__} has no attention to a prompt")
    place, size = attention_words(prompt).index(word), made[0].size
    masks = [
        word_mask(maps[place].astype(np.float32), size)
        for maps in word_maps(sums, studio.pipeline, family, prompts, size)
    ]
    regions = [[each.region(size) for each in inside if each.name == word] for inside in finder.objects(made)]
    return [(np.any(parts, axis=0), mask) for parts, mask in zip(regions, masks, strict=True) if parts]


def _counted(pictures: Sequence[tuple[Mask, Mask]], rng: np.random.Generator) -> Mapping[str, object]:
    shares = [(metrics.coverage(region, mask), covered_by_chance(region, mask, rng)) for region, mask in pictures]
    more = sum(covered > chance for covered, chance in shares)
    interval = statistics.clopper_pearson(more, len(shares), LEVEL) if shares else None
    return {
        "pictures with the object": len(shares),
        "covers more than by chance": more,
        "share": None if interval is None else [round(v, 3) for v in (interval.estimate, interval.low, interval.high)],
        "covered": round(float(np.mean([covered for covered, _ in shares])), 3) if shares else None,
        "by chance": round(float(np.mean([chance for _, chance in shares])), 3) if shares else None,
    }
