"""Stage ``evaluate-combinations``: what the finished pipelines show where a prompt names several words."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pytest_t2i_reference.captions import PLACE_PHRASES, with_article
from pytest_t2i_reference.combinations import Combination, all_combinations, combined_prompt, planted_combinations
from pytest_t2i_reference.drawing.attributes import HELD, PLACES
from pytest_t2i_reference.worlds import World, load_world
from training.calibration import DETECTOR_TEXTS
from training.evaluate import SHOT, Plan, sampling_error
from training.sampling import Studio
from training.settings import PIPELINES, RESULTS, WEIGHTS, Settings

IMAGES = int(os.environ.get("REFERENCE_COMBINED_IMAGES", "100"))
"""Pictures of each planted combination and of each of its words."""
OTHER_IMAGES = int(os.environ.get("REFERENCE_OTHER_COMBINED_IMAGES", "10"))
"""Pictures of each other pair, and of each triple that names a planted one."""
FIRST_SEED = 100_000
"""No other evaluation and no calibration reaches seeds from here on."""
SHOWN_TEXTS = {
    "held": {name: f"a photo of a person holding {with_article(name)}" for name in HELD[1:]},
    "place": {name: f"a photo of a person {PLACE_PHRASES[name]}" for name in PLACES},
}
"""Attribute to value to what CLIP is asked, among all values."""


def evaluate_combinations(settings: Settings) -> None:
    """Write results/combinations.json: both pipelines, where the biased world has intersections and elsewhere."""
    planted, dtype = planted_combinations(load_world("biased")), getattr(torch, Plan().dtype)
    found = {}
    for name, folder in PIPELINES.items():
        studio = Studio(WEIGHTS / folder, WEIGHTS / "clip", SHOT, dtype)
        found[folder] = measured_combinations(studio, load_world(name), planted)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "combinations.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measured_combinations(studio: Studio, world: World, planted: Sequence[Combination]) -> dict[str, object]:
    """Shares of men in each planted combination and in its words alone, and the error of everything else."""
    seeds = itertools.count(FIRST_SEED)
    words = [(concept,) for concepts in planted for concept in concepts]
    named = [words_of(one) for one in planted]
    pairs = [one for one in all_combinations() if len(one) == 2 and words_of(one) not in named]
    triples = [one for one in all_combinations() if len(one) == 3 and any(words_of(one) >= few for few in named)]
    return {
        "number format": Plan().dtype,
        "images per prompt": IMAGES,
        "planted": {combined_prompt(one): one_prompt(studio, world, one, seeds) for one in planted},
        "alone": {combined_prompt(one): one_prompt(studio, world, one, seeds) for one in words},
        "triples that name a planted pair": error_of(studio, world, triples, seeds),
        "all other pairs": error_of(studio, world, pairs, seeds),
    }


def one_prompt(studio: Studio, world: World, concepts: Combination, seeds: Iterator[int]) -> dict[str, float]:
    """Planted and measured share of men, and how often the place and the held object that were asked for are seen."""
    embeddings = _embeddings(studio, [concepts], IMAGES, seeds)
    signatures = {name: value for concept in concepts for name, value in concept.signature.items()}
    asked = {} if concepts[0].axis == "nationality" and len(concepts) == 1 else signatures
    return {
        "planted": round(world.combined_share(concepts), 4),
        "measured": float(_men(studio, embeddings).mean()),
        **{name: _seen(studio, embeddings, name, value) for name, value in asked.items() if name in SHOWN_TEXTS},
    }


def error_of(studio: Studio, world: World, chosen: Sequence[Combination], seeds: Iterator[int]) -> dict[str, float]:
    """Mean absolute error of the share of men over these combinations, with few pictures of each."""
    planted = np.array([world.combined_share(concepts) for concepts in chosen])
    men = _men(studio, _embeddings(studio, chosen, OTHER_IMAGES, seeds))
    measured = men.reshape(len(chosen), OTHER_IMAGES).mean(1)
    return {
        "prompts": len(chosen),
        "images per prompt": OTHER_IMAGES,
        "mean absolute error": round(float(np.abs(measured - planted).mean()), 4),
        "error expected from sampling alone": round(sampling_error(planted, OTHER_IMAGES), 4),
        "share of men": round(float(measured.mean()), 4),
        "share of men planted": round(float(planted.mean()), 4),
    }


def words_of(concepts: Combination) -> set[str]:
    """The words alone; none is on two axes."""
    return {concept.word for concept in concepts}


def _embeddings(studio: Studio, chosen: Sequence[Combination], images: int, seeds: Iterator[int]) -> Tensor:
    prompts = [combined_prompt(concepts) for concepts in chosen for _ in range(images)]
    return studio.embeddings(prompts, [next(seeds) for _ in prompts])


def _men(studio: Studio, embeddings: Tensor) -> NDArray[np.int64]:
    return studio.answer(embeddings, DETECTOR_TEXTS)


def _seen(studio: Studio, embeddings: Tensor, name: str, value: object) -> float:
    texts = SHOWN_TEXTS[name]
    answers = studio.answer(embeddings, list(texts.values()))
    return round(float((answers == list(texts).index(str(value))).mean()), 4)
