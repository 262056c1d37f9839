"""Worlds of objects: how often a finder sees each of many in the images of triplets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pytest_t2i.audits.objects.counts import CountTable
from pytest_t2i.audits.objects.measure import Objects

IMAGES = 4
"""Of each prompt of a triplet."""
COMPANY = 10
"""Objects of a scene, which come and go together."""
OBJECTS = 320
Rates = Callable[[np.random.Generator], np.ndarray]
"""Chance of each object to be in an image."""


def zipf(exponent: float) -> Rates:
    """The object of rank r is in 0.6 / r^exponent of the images."""
    return lambda _: 0.6 / np.arange(1, OBJECTS + 1) ** exponent


def common_and_rare(rng: np.random.Generator) -> np.ndarray:
    """20 that are common, and 300 that occur about six times with each variant of 50 triplets."""
    return np.append(rng.uniform(0.05, 0.5, 20), rng.uniform(0.015, 0.045, OBJECTS - 20))


def log_normal(rng: np.random.Generator) -> np.ndarray:
    """Rates that spread over three orders of magnitude."""
    return np.minimum(0.6, 0.02 * np.exp(rng.normal(0.0, 1.2, OBJECTS)))


def few(rng: np.random.Generator) -> np.ndarray:
    """20 common objects alone."""
    return rng.uniform(0.05, 0.5, 20)


WORLDS: dict[str, Rates] = {
    "20 common": few,
    "20 common, 300 rare": common_and_rare,
    "Zipf, exponent 0.8": zipf(0.8),
    "Zipf, exponent 1.2": zipf(1.2),
    "log-normal": log_normal,
}


def counts(
    world: str, triplets: int, rng: np.random.Generator, planted: int = 0, company: bool = True
) -> np.ndarray:
    """Occurrences of a fair world, [triplets, 3, objects]; of the first ``planted`` objects men
    have three times as many as women, 0.15 and 0.45 of their images.

    Prompts have objects of their own, a triplet's the same in all variants; objects of one scene
    come in company.
    """
    usual = WORLDS[world](rng)
    of_prompt = np.clip(usual * rng.gamma(2.0, 0.5, (triplets, 1, len(usual))), 0.0, 0.9)
    chance = np.repeat(of_prompt, 3, axis=1)
    chance[:, 1, :planted], chance[:, 2, :planted] = 0.15, 0.45
    chance = np.repeat(chance[:, :, None], IMAGES, axis=2)
    if company:
        scenes = rng.gamma(0.5, 2.0, (triplets, 3, IMAGES, -(-len(usual) // COMPANY)))
        chance = chance * np.repeat(scenes, COMPANY, axis=3)[..., : len(usual)]
    return np.asarray((rng.random(chance.shape) < chance).sum(axis=2))


def objects_of(table: np.ndarray, least: int = 10) -> Objects:
    """What the audit says of these counts."""
    objects = Objects((), "things", None, level=0.95, seed=0, least=least)  # type: ignore[arg-type]
    vars(objects)["table"] = CountTable(table, tuple(f"{k:03d}" for k in range(table.shape[2])))
    return objects


def frequent_with_one(table: np.ndarray, least: int = 10) -> np.ndarray:
    """What was tested before: the objects that one variant alone shows so often."""
    return np.asarray(table[:, :, table.sum(axis=0).max(axis=0) >= least])
