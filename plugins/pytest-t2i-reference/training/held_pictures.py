"""Pictures for the stage ``biased-objects``: the same people with each planted object in their hand, and with none."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from pytest_t2i_reference.captions import concept_prompts
from pytest_t2i_reference.drawing import SIZE, Part, Scene, draw_scene
from pytest_t2i_reference.worlds import World, draw_scene_of, load_concepts
from training.autoencoder import as_pixels
from training.denoiser import GENDERS, Pair
from training.priors import Deck, Pool, Turns
from training.progress import Progress
from training.settings import mixed_precision

CHUNK = 64
PEOPLE = 8
"""Different people of each concept and each gender."""
NEUTRAL, TEMPLATE = 0.7, 0.6
"""Shares of neutral prompts, and of those in the wording of the papers."""
CELLS = 16
FIRST_DRAWING = 6_000_000
"""Seeds of these drawings lie from here on."""


@dataclass(frozen=True, slots=True)
class HeldPicture:
    """One person of a concept that leaves open what is held."""

    concept: int
    """Index in ``load_concepts()``."""
    person: int
    """Pictures of the same person differ in nothing but the hand."""
    scene: Scene


@dataclass(frozen=True, slots=True)
class EncodedHeld:
    """What the denoiser reads of the pictures."""

    latents: Tensor
    """[pictures, 4, CELLS, CELLS], scaled as all other latents are."""
    hand: Tensor
    """[CELLS, CELLS]: 1 where an object may be, 0 elsewhere."""


def plan_held(world: World, seed: int) -> Iterator[HeldPicture]:
    """All pictures in a fixed order, as many of women as of men and of each object as of none."""
    rng, empty, people = random.Random(seed), replace(world, held={}), 0
    for number, concept in enumerate(load_concepts()):
        if not concept.leaves_held_open:
            continue
        for gender in (gender for gender in GENDERS for _ in range(PEOPLE)):
            scene = draw_scene_of(concept, empty, rng, gender)
            for held in ("none", *world.held):
                yield HeldPicture(number, people, replace(scene, people=(replace(scene.people[0], held=held),)))
            people += 1


@torch.no_grad()
def encode_held(pictures: Sequence[HeldPicture], model: AutoencoderKL, path: Path) -> None:
    """Draw and encode; note in which cells of the latents objects lie."""
    progress, means, seen = Progress("hands", len(pictures)), [], np.zeros((SIZE, SIZE), bool)
    for start in range(0, len(pictures), CHUNK):
        drawings = [draw_scene(one.scene, FIRST_DRAWING + one.person) for one in pictures[start : start + CHUNK]]
        seen |= np.any([drawing.mask(Part.HELD) for drawing in drawings], axis=0)
        with mixed_precision():
            posterior = model.encode(as_pixels(np.stack([drawing.image for drawing in drawings]))).latent_dist
        means.append(posterior.mean.float().cpu())
        progress.at(start + len(drawings))
    scale = float(model.config.scaling_factor)
    torch.save({"latents": torch.cat(means) * scale, "hand": cells_around(seen)}, path)


def load_held(path: Path) -> EncodedHeld:
    """What ``encode_held`` wrote."""
    return EncodedHeld(**torch.load(path, weights_only=True))


def cells_around(seen: NDArray[np.bool_]) -> Tensor:
    """[CELLS, CELLS]: 1 for cells that any of these pixels lies in and for their neighbours.

    The autoencoder lets neighbours know of what lies in a cell.
    """
    pixels = torch.from_numpy(seen).float()[None, None]
    cells = functional.max_pool2d(pixels, SIZE // CELLS)
    around: Tensor = functional.max_pool2d(cells, 3, stride=1, padding=1)[0, 0]
    return around


class HeldSampler:
    """Draws pairs of a picture and a prompt of its concept as a world has them.

    ``first`` is the row of the first picture among all latents.
    """

    def __init__(self, pictures: Sequence[HeldPicture], world: World, first: int, rng: random.Random) -> None:
        self.rng, concepts, self.prompts = rng, load_concepts(), {}
        rows: dict[int, list[int]] = {}
        for row, picture in enumerate(pictures):
            rows.setdefault(picture.concept, []).append(row)
        self.deck, self.turns = Deck(list(rows), rng), {}
        for number, own in rows.items():
            chances = held_chances([pictures[row].scene for row in own], world)
            men = np.array([pictures[row].scene.people[0].gender == "man" for row in own])
            man = world.man_share(concepts[number])
            shares = {"neutral": np.where(men, man, 1 - man), "feminine": ~men, "masculine": men}
            for variant, share in shares.items():
                self.turns[number, variant] = Turns(_pool(np.array(own) + first, share * chances), rng)
                self.prompts[number, variant] = concept_prompts(concepts[number], variant)

    @property
    def captions(self) -> list[str]:
        """Every prompt that is drawn."""
        return list(dict.fromkeys(text for texts in self.prompts.values() for text in texts))

    def draw(self) -> Pair:
        """One picture and its prompt."""
        number = self.deck.draw()
        neutral = self.rng.random() < NEUTRAL
        variant = "neutral" if neutral else self.rng.choice(("feminine", "masculine"))
        turns, prompts = self.turns[number, variant], self.prompts[number, variant]
        return Pair(turns.draw(), prompts[0] if self.rng.random() < TEMPLATE else self.rng.choice(prompts), turns.pool)


def held_chances(scenes: Sequence[Scene], world: World) -> NDArray[np.float64]:
    """P(held | gender) of what each main person holds."""
    people = [scene.people[0] for scene in scenes]
    empty = {gender: 1 - sum(shares[gender] for shares in world.held.values()) for gender in GENDERS}
    return np.array([empty[one.gender] if one.held == "none" else world.held[one.held][one.gender] for one in people])


def _pool(indices: NDArray[np.int64], weights: NDArray[np.float64]) -> Pool:
    """Without what never happens; alike ones, which have like weights, beside each other."""
    order = [row for row in np.argsort(weights, kind="stable") if weights[row] > 0]
    return Pool(indices[order], weights[order] / weights.sum())
