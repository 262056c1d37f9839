"""Closes the loop between what is planted and what comes out, where they differ.

Coarse sampling and what a small denoiser did not learn may shift shares (0.30 planted may come out as 0.12). The shares
that a denoiser is *trained* with can therefore be corrected until the *measured* ones, at the shipped steps and
guidance, meet the planted ones. The planted shares themselves stay in the world files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_t2i_reference.captions import concept_prompts
from pytest_t2i_reference.worlds import World, load_concepts, planted_traits
from training.sampling import Studio

DETECTOR_TEXTS = ("a photo of a female", "a photo of a male")
"""What Lyu et al. ask CLIP."""
SPREAD = 0.2
"""How far, in log-odds, shares stray from what is planted: an error is trusted as far as it stands out from chance."""
SPREAD_OF_THINGS = 0.5
"""The same of objects and places: rare ones come out rarer than they are trained."""
LARGEST_STEP = 1.5
"""No share is moved further at once, in log-odds."""
SURE = 0.005
"""Planted shares this near to 0 or 1 are trained as they are: no correction could push them further."""

Shares = Mapping[str, Mapping[str, float]]
"""Word to trait (``man``; more for nationalities) to share."""


def planted_shares(world: World) -> list[float]:
    """P(man | concept) for all concepts."""
    return [world.man_share(concept) for concept in load_concepts()]


def all_planted(world: World) -> Shares:
    """Everything that is planted."""
    return {concept.word: dict(planted_traits(world, concept)) for concept in load_concepts()}


def measured_shares(studio: Studio, images: int, first_seed: int, concepts: Sequence[int]) -> NDArray[np.float64]:
    """Share of pictures in which CLIP sees a man, for each concept's template prompt."""
    texts = [concept_prompts(load_concepts()[index], "neutral")[0] for index in concepts]
    prompts = [text for text in texts for _ in range(images)]
    # Seeds of their own for every concept: the same noise leans to the same gender whatever the concept.
    seeds = [first_seed + index * images + number for index in concepts for number in range(images)]
    answers = studio.answer(studio.embeddings(prompts, seeds), DETECTOR_TEXTS)
    shares: NDArray[np.float64] = answers.reshape(len(texts), images).mean(1)
    return shares


def corrected_share(planted: float, trained: float, measured: float, images: int, spread: float = SPREAD) -> float:
    """A new training share: moved by the error in log-odds, as far as that is more than chance.

    ``spread`` is how far shares are thought to stray from what is planted, in log-odds.

    >>> corrected_share(0.5, 0.5, 0.5, 100)
    0.5
    >>> corrected_share(0.5, 0.5, 0.3, 100) > 0.65
    True
    >>> corrected_share(1.0, 1.0, 0.9, 100)
    1.0
    """
    if not SURE < planted < 1 - SURE:
        return planted
    seen = (measured * images + planted) / (images + 1)
    error = _odds(planted) - _odds(seen)
    noise = 1 / (images * planted * (1 - planted))
    step = error * spread**2 / (spread**2 + noise)
    return _share(_odds(trained) + max(-LARGEST_STEP, min(LARGEST_STEP, step)))


def corrected(planted: Shares, trained: Shares, measured: Shares, images: Mapping[str, int]) -> Shares:
    """New training shares for everything that was measured; ``images`` says with how many pictures of each word."""
    return {
        word: {
            trait: corrected_share(goal, trained[word][trait], measured[word][trait], images[word])
            for trait, goal in goals.items()
        }
        for word, goals in planted.items()
    }


def corrected_things(world: World, counted: Mapping[str, Any]) -> World:
    """The world to train with again: what people hold and where they are moved by what ``evaluate-objects`` counted."""
    images = counted["prompts"] * counted["images per prompt"]
    places = {name.partition(",")[0]: shares for name, shares in counted["places"].items()}

    def moved(planted: Shares, measured: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        return {
            name: {
                gender: corrected_share(goal, goal, measured[name][variant]["measured"][0], images, SPREAD_OF_THINGS)
                for gender, variant in (("woman", "feminine"), ("man", "masculine"))
                for goal in [shares[gender]]
            }
            for name, shares in planted.items()
        }

    return replace(world, held=moved(world.held, counted["objects"]), places=moved(world.places, places))


def load_shares(path: Path, world: World) -> Shares:
    """The shares to train with: calibrated ones when there are any, else the planted ones."""
    if path.exists():
        shares: Shares = json.loads(path.read_text(encoding="utf-8"))[world.name]
        return shares
    return all_planted(world)


def _odds(share: float) -> float:
    return math.log(share / (1 - share))


def _share(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))
