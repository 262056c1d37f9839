"""Stage ``evaluate-attention``: whether the attention to a word lies where the object detector sees its object."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pytest_t2i import Loaded, ObjectFinder, load, metrics, statistics
from pytest_t2i.prompts import attention_words

from training.evaluate import ATTENTION
from training.finder import object_finder
from training.settings import FLOWS, PIPELINES, Settings, device

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
THRESHOLD = 0.35
"""Share of the range of attention from which on a word counts as looked at, as in suites/dependencies."""
LEVEL = 0.95
Mask = NDArray[np.bool_]


def evaluate_attention(settings: Settings) -> None:
    """Write results/attention.json: of the balanced UNet pipeline and of the balanced flow pipeline."""
    finder = object_finder()
    result = {
        name: attention_of(load(name, device=device().type), finder)
        for name in (PIPELINES["balanced"], FLOWS["balanced"])
    }
    ATTENTION.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def attention_of(model: Loaded, finder: ObjectFinder, images: int = IMAGES) -> Mapping[str, Mapping[str, object]]:
    """Word to the pictures in which its object was seen, and those whose mask covers more of it than by chance."""
    rng = np.random.default_rng(FIRST_SEED)
    return {word: _counted(_pictures(model, finder, word, prompt, images), rng) for word, prompt in PROMPTS.items()}


def covered_by_chance(region: Mask, mask: Mask, rng: np.random.Generator, places: int = PLACES) -> float:
    """Mean share of ``region`` that ``mask`` covers where it is laid at random.

    What leaves the picture on one side comes in on the other.

    >>> covered_by_chance(np.eye(4, dtype=bool), np.ones((4, 4), bool), np.random.default_rng(0))
    1.0
    """
    shifts = rng.integers(region.shape, size=(places, 2))
    return float(np.mean([metrics.coverage(region, np.roll(mask, shift, (0, 1))) for shift in shifts]))


def word_mask(attention: NDArray[np.float16], size: tuple[int, int]) -> Mask:
    """Where a word was looked at: its map [height, width] laid over a picture of this size.

    >>> word_mask(np.array([[0, 1]], np.float16), (4, 2)).tolist()[0]
    [False, False, True, True]
    """
    laid = np.asarray(Image.fromarray(attention.astype(np.float32)).resize(size, Image.Resampling.BICUBIC))
    low, high = float(laid.min()), float(laid.max())
    # Attention that is the same everywhere marks no place.
    mask: Mask = np.zeros(laid.shape, bool) if high <= low else (laid - low) / (high - low) >= THRESHOLD
    return mask


def _pictures(model: Loaded, finder: ObjectFinder, word: str, prompt: str, images: int) -> Sequence[tuple[Mask, Mask]]:
    """Return for each picture with the object where the object is, and where its word was looked at."""
    asked = [model.request(prompt, FIRST_SEED + number) for number in range(images)]
    made = list(model.generate([replace(each, observe=frozenset({"attention"})) for each in asked]))
    place, size = attention_words(prompt).index(word), made[0].image.size
    masks = [word_mask(each.trace.attention[place], size) for each in made]
    seen = finder.objects([each.image for each in made])
    regions = [[each.region(size) for each in inside if each.name == word] for inside in seen]
    return [(np.any(parts, axis=0), mask) for parts, mask in zip(regions, masks, strict=True) if parts]


def _counted(pictures: Sequence[tuple[Mask, Mask]], rng: np.random.Generator) -> Mapping[str, object]:
    shares = [(metrics.coverage(region, mask), covered_by_chance(region, mask, rng)) for region, mask in pictures]
    more = sum(covered > chance for covered, chance in shares)
    interval = statistics.share_interval(more, len(shares), LEVEL) if shares else None
    return {
        "pictures with the object": len(shares),
        "covers more than by chance": more,
        "share": None if interval is None else [round(v, 3) for v in (interval.estimate, interval.low, interval.high)],
        "covered": round(float(np.mean([covered for covered, _ in shares])), 3) if shares else None,
        "by chance": round(float(np.mean([chance for _, chance in shares])), 3) if shares else None,
    }
