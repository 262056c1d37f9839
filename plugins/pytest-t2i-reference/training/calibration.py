"""Closes the loop between what is planted and what comes out, where they differ.

Guidance and coarse sampling may shift shares (0.30 planted may come out as 0.12). The shares that a denoiser is
*trained* with can therefore be corrected until the *measured* ones, at the shipped steps and guidance, meet the planted
ones. The planted shares themselves stay in the world files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_t2i_reference.captions import concept_prompts
from pytest_t2i_reference.worlds import World, load_concepts
from training.sampling import Studio

DETECTOR_TEXTS = ("a photo of a female", "a photo of a male")
"""What Lyu et al. ask CLIP."""


def planted_shares(world: World) -> list[float]:
    """P(man | concept) for all concepts."""
    return [world.man_share(concept) for concept in load_concepts()]


def measured_shares(studio: Studio, images: int, first_seed: int, concepts: Sequence[int]) -> NDArray[np.float64]:
    """Share of pictures in which CLIP sees a man, for each concept's template prompt."""
    texts = [concept_prompts(load_concepts()[index], "neutral")[0] for index in concepts]
    prompts = [text for text in texts for _ in range(images)]
    # Seeds of their own for every concept: the same noise leans to the same gender whatever the concept.
    seeds = [first_seed + index * images + number for index in concepts for number in range(images)]
    answers = studio.answer(studio.embeddings(prompts, seeds), DETECTOR_TEXTS)
    shares: NDArray[np.float64] = answers.reshape(len(texts), images).mean(1)
    return shares


def corrected_shares(
    planted: Sequence[float], trained: Sequence[float], measured: Sequence[float], images: int
) -> list[float]:
    """New training shares: moved by the error in log-odds, which is shrunk to the mean error where images are few."""
    clipped = [min(1 - 0.5 / images, max(0.5 / images, share)) for share in measured]
    errors = np.array([_odds(goal) - _odds(seen) for goal, seen in zip(planted, clipped, strict=True)])
    open_shares = np.array([0.02 < goal < 0.98 for goal in planted])
    common = float(errors[open_shares].mean()) if open_shares.any() else 0.0
    found = []
    for goal, share, error, is_open in zip(planted, trained, errors, open_shares, strict=True):
        if not is_open:
            found.append(goal)
            continue
        noise = 1 / (images * max(goal * (1 - goal), 0.02))
        trust = 0.25 / (0.25 + noise)
        found.append(_share(_odds(share) + common + trust * (float(error) - common)))
    return found


def load_shares(path: Path, world: World) -> list[float]:
    """The shares to train with: calibrated ones when there are any, else the planted ones."""
    if path.exists():
        shares: list[float] = json.loads(path.read_text(encoding="utf-8"))[world.name]
        return shares
    return planted_shares(world)


def _odds(share: float) -> float:
    share = min(0.98, max(0.02, share))
    return math.log(share / (1 - share))


def _share(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))
