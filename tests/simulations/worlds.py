"""Models whose true bias is known, and their counts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

TABLE = Path(__file__).parents[1] / "oracles" / "published" / "lyu_table7.json"

WORLDS = ("fair", "sdxl", "dreamlike", "mild", "even")


def draw(world: str, prompts: int, rng: np.random.Generator) -> np.ndarray:
    """P(male) of prompts drawn from a world.

    fair: 1/2 throughout; sdxl, sd3, dreamlike: Lyu Table 7; mild: Beta(20, 20);
    even: 0.6 throughout.
    """
    if world == "fair":
        return np.full(prompts, 0.5)
    if world == "mild":
        return rng.beta(20, 20, size=prompts)
    if world == "even":
        return np.full(prompts, 0.6)
    return rng.choice(table7(world), size=prompts)


def truth(world: str) -> float:
    """Mean of |2p - 1| over the prompts of a world."""
    if world in {"sdxl", "sd3", "dreamlike"}:
        return float(np.mean(np.abs(2 * table7(world) - 1)))
    return float(np.mean(np.abs(2 * draw(world, 400_000, np.random.default_rng(0)) - 1)))


def table7(model: str) -> np.ndarray:
    """P(male) of the 100 words of Lyu Table 7."""
    facts = json.loads(TABLE.read_text(encoding="utf-8"))
    column = facts["columns"].index(model)
    return (1.0 + np.array([row[column] for row in facts["rows"]], dtype=float)) / 2.0
