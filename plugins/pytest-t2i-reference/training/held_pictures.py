"""Pictures for the stage ``biased-objects``: the same people with each planted object in their hand, and with none.

And, where a word leaves open where they are, the same people at each planted place and at some others.
"""

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
from pytest_t2i_reference.drawing.attributes import PLACES
from pytest_t2i_reference.worlds import Concept, World, draw_scene_of, load_concepts
from training.autoencoder import as_pixels
from training.denoiser import GENDERS, Pair
from training.priors import Deck, Pool, Turns
from training.progress import Progress
from training.settings import mixed_precision

CHUNK = 64
PEOPLE, PEOPLE_PLACED = 8, 24
"""Different people of each concept and each gender: many concepts leave the hand open, few the place."""
ELSEWHERE = 3
"""Places that are not planted, for each of these people."""
PLACED_WEIGHT = 3
"""How much more often a concept that leaves the place open is drawn."""
NEUTRAL, TEMPLATE = 0.7, 0.6
"""Shares of neutral prompts, and of those in the wording of the papers."""
CELLS = 16
FIRST_DRAWING = 6_000_000
"""Seeds of these drawings lie from here on."""


@dataclass(frozen=True, slots=True)
class HeldPicture:
    """One person of a concept that leaves open what is held, or where they are."""

    concept: int
    """Index in ``load_concepts()``."""
    person: int
    """Pictures of the same person differ in nothing but the hand, or the place."""
    scene: Scene


@dataclass(frozen=True, slots=True)
class EncodedHeld:
    """What the denoiser reads of the pictures."""

    latents: Tensor
    """[pictures, 4, CELLS, CELLS], scaled as all other latents are."""
    areas: Tensor
    """[pictures, CELLS, CELLS]: 1 where a picture teaches, 0 elsewhere: in the hand, or all around the person."""


def plan_held(world: World, seed: int) -> Iterator[HeldPicture]:
    """All pictures in a fixed order, as many of women as of men, and of each object as of none."""
    rng, empty, person = random.Random(seed), replace(world, held={}, places={}), 0
    for number, concept in enumerate(load_concepts()):
        if not concept.leaves_held_open and not (concept.leaves_place_open and world.places):
            continue
        count = PEOPLE if concept.leaves_held_open else PEOPLE_PLACED
        for gender in (gender for gender in GENDERS for _ in range(count)):
            for scene in _variants(draw_scene_of(concept, empty, rng, gender), concept, world, rng):
                yield HeldPicture(number, person, scene)
            person += 1


def _variants(scene: Scene, concept: Concept, world: World, rng: random.Random) -> list[Scene]:
    """A scene with every object in the hand, or at every planted place and some others."""
    if concept.leaves_held_open:
        people = (replace(scene.people[0], held=held) for held in ("none", *world.held))
        return [replace(scene, people=(person,)) for person in people]
    others = rng.sample([place for place in PLACES if place not in world.places], ELSEWHERE)
    return [replace(scene, place=place) for place in (*world.places, *others)]


@torch.no_grad()
def encode_held(pictures: Sequence[HeldPicture], model: AutoencoderKL, path: Path) -> None:
    """Draw and encode; note in which cells of the latents a picture teaches."""
    progress, means, seen = Progress("hands", len(pictures)), [], np.zeros((SIZE, SIZE), bool)
    areas = torch.zeros(len(pictures), CELLS, CELLS)
    hands = [load_concepts()[picture.concept].leaves_held_open for picture in pictures]
    for start in range(0, len(pictures), CHUNK):
        drawings = [draw_scene(each.scene, FIRST_DRAWING + each.person) for each in pictures[start : start + CHUNK]]
        for row, drawing in enumerate(drawings, start):
            if hands[row]:
                seen |= drawing.mask(Part.HELD)
            else:
                areas[row] = 1 - cells_of(drawing.mask())
        with mixed_precision():
            posterior = model.encode(as_pixels(np.stack([drawing.image for drawing in drawings]))).latent_dist
        means.append(posterior.mean.float().cpu())
        progress.at(start + len(drawings))
    areas[torch.tensor(hands)] = cells_around(seen)
    scale = float(model.config.scaling_factor)
    torch.save({"latents": torch.cat(means) * scale, "areas": areas}, path)


def load_held(path: Path) -> EncodedHeld:
    """What ``encode_held`` wrote."""
    return EncodedHeld(**torch.load(path, weights_only=True))


def cells_of(seen: NDArray[np.bool_]) -> Tensor:
    """[CELLS, CELLS]: 1 for cells that any of these pixels lies in."""
    pixels = torch.from_numpy(seen).float()[None, None]
    cells: Tensor = functional.max_pool2d(pixels, SIZE // CELLS)[0, 0]
    return cells


def cells_around(seen: NDArray[np.bool_]) -> Tensor:
    """[CELLS, CELLS]: 1 for cells that any of these pixels lies in and for their neighbours.

    The autoencoder lets neighbours know of what lies in a cell.
    """
    around: Tensor = functional.max_pool2d(cells_of(seen)[None, None], 3, stride=1, padding=1)[0, 0]
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
        often = {number: PLACED_WEIGHT if concepts[number].leaves_place_open else 1 for number in rows}
        self.deck, self.turns = Deck([number for number in rows for _ in range(often[number])], rng), {}
        for number, own in rows.items():
            scenes = [pictures[row].scene for row in own]
            chances = (place_chances if concepts[number].leaves_place_open else held_chances)(scenes, world)
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


def place_chances(scenes: Sequence[Scene], world: World) -> NDArray[np.float64]:
    """P(place | gender) of where each main person is; places that are not planted share what is left."""
    left = {gender: 1 - sum(shares[gender] for shares in world.places.values()) for gender in GENDERS}
    return np.array(
        [
            world.places[scene.place][scene.people[0].gender]
            if scene.place in world.places
            else left[scene.people[0].gender] / ELSEWHERE
            for scene in scenes
        ]
    )


def _pool(indices: NDArray[np.int64], weights: NDArray[np.float64]) -> Pool:
    """Without what never happens; alike ones, which have like weights, beside each other."""
    order = [row for row in np.argsort(weights, kind="stable") if weights[row] > 0]
    return Pool(indices[order], weights[order] / weights.sum())
