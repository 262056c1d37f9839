"""Pictures of combinations for the stage ``biased-combined``, and the sampler that has them learned."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL
from torch import Tensor

from pytest_t2i_reference.combinations import (
    Combination,
    all_combinations,
    combined_prompt,
    combined_triplet,
    planted_combinations,
)
from pytest_t2i_reference.drawing import Scene, draw_scene
from pytest_t2i_reference.worlds import World, draw_combined_scene
from training.autoencoder import as_pixels
from training.denoiser import GENDERS, Pair
from training.priors import Deck, Pool, Turns, even_pool, raked_weights
from training.progress import Progress
from training.settings import mixed_precision

CHUNK = 64
IMAGES = {"planted": 40, "pair": 8, "triple": 3, "planted triple": 8}
"""Drawings of each combination and each gender."""
MIX = {"planted": 0.25, "planted triple": 0.1, "pair": 0.4, "triple": 0.1, "gendered": 0.15}
"""What combinations are practised: those that are planted, triples that name them, all others; and, of either
gender, any."""
OTHER_ORDER = 0.15
"""Share of neutral prompts that name the words in the opposite order."""
FIRST_DRAWING = 5_000_000
"""Seeds of these drawings lie from here on."""


@dataclass(frozen=True, slots=True)
class Combined:
    """One picture of a combination."""

    number: int
    """Index in ``all_combinations()``."""
    scene: Scene


def kind_of(concepts: Combination, world: World) -> str:
    """A key of ``IMAGES``."""
    if concepts in planted_combinations(world):
        return "planted"
    if len(concepts) == 2:
        return "pair"
    return "planted triple" if world.named(concepts) else "triple"


def plan_combinations(world: World, seed: int) -> Iterator[Combined]:
    """All pictures in a fixed order, as many of women as of men."""
    rng = random.Random(seed)
    for number, concepts in enumerate(all_combinations()):
        for gender in GENDERS:
            for _ in range(IMAGES[kind_of(concepts, world)]):
                yield Combined(number, draw_combined_scene(concepts, world, rng, gender))


@torch.no_grad()
def encode_combinations(records: Sequence[Combined], model: AutoencoderKL, path: Path) -> None:
    """Draw and encode, scaled as all other latents are."""
    progress, means = Progress("combinations", len(records)), []
    for start in range(0, len(records), CHUNK):
        part = records[start : start + CHUNK]
        drawn = [draw_scene(one.scene, FIRST_DRAWING + start + row).image for row, one in enumerate(part)]
        with mixed_precision():
            means.append(model.encode(as_pixels(np.stack(drawn))).latent_dist.mean.float().cpu())
        progress.at(start + len(part))
    torch.save(torch.cat(means) * float(model.config.scaling_factor), path)


def load_combinations(path: Path) -> Tensor:
    """[count, 4, 16, 16]: what ``encode_combinations`` wrote."""
    latents: Tensor = torch.load(path, weights_only=True)
    return latents


class CombinationSampler:
    """Draws pairs of a combination's picture and its prompt as a world has them.

    ``first`` is the row of the first record among all latents.
    """

    def __init__(self, records: Sequence[Combined], world: World, first: int, rng: random.Random) -> None:
        self.rng = rng
        pools = _by_number(records)
        self.neutral, self.gendered, self.prompts, kinds = {}, {}, {}, {"gendered": list(pools)}
        for number, rows in pools.items():
            concepts = all_combinations()[number]
            pool = combined_pool(records, rows, world.combined_share(concepts))
            self.neutral[number] = Turns(_shifted(pool, first), rng)
            for gender in GENDERS:
                same = [row for row in rows if records[row].scene.people[0].gender == gender]
                self.gendered[number, gender] = Turns(_shifted(even_pool(same), first), rng)
            self.prompts[number] = (*combined_triplet(concepts), combined_prompt(concepts[::-1]))
            kinds.setdefault(kind_of(concepts, world), []).append(number)
        self.decks = {kind: Deck(numbers, rng) for kind, numbers in kinds.items()}

    @property
    def captions(self) -> list[str]:
        """Every prompt that is drawn."""
        return [text for texts in self.prompts.values() for text in texts]

    def draw(self) -> Pair:
        """One record and its prompt."""
        kinds = list(self.decks)
        kind = self.rng.choices(kinds, [MIX[kind] for kind in kinds])[0]
        number = self.decks[kind].draw()
        neutral, feminine, masculine, other_order = self.prompts[number]
        if kind == "gendered":
            gender = self.rng.choice(GENDERS)
            turns = self.gendered[number, gender]
            return Pair(turns.draw(), feminine if gender == "woman" else masculine, turns.pool)
        turns = self.neutral[number]
        return Pair(turns.draw(), other_order if self.rng.random() < OTHER_ORDER else neutral, turns.pool)


def combined_pool(records: Sequence[Combined], rows: Sequence[int], share: float) -> Pool:
    """A combination's pictures, weighted so that men have this share."""
    ordered = sorted(rows, key=lambda row: records[row].scene.people[0].gender)
    men = np.array([[records[row].scene.people[0].gender == "man"] for row in ordered])
    return Pool(np.asarray(ordered), raked_weights(men, [share]))


def _by_number(records: Sequence[Combined]) -> dict[int, list[int]]:
    rows: dict[int, list[int]] = {}
    for row, record in enumerate(records):
        rows.setdefault(record.number, []).append(row)
    return rows


def _shifted(pool: Pool, first: int) -> Pool:
    return Pool(pool.indices + first, pool.weights)
