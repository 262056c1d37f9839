"""Models whose true bias is known, and their counts."""

from __future__ import annotations

import json
from collections.abc import Callable
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


def mixed(few: float, share: float, most: float = 0.0) -> Callable[[int], np.ndarray]:
    """|2p - 1| of prompts: a share of them, and at least one, at ``few``, the rest at ``most``."""
    return lambda n: np.where(np.arange(n) < max(1, round(share * n)), few, most)


def spread(model: str) -> Callable[[int], np.ndarray]:
    """|2p - 1| of words of Lyu Table 7, evenly over its ranks."""
    rates = np.sort(np.abs(2 * table7(model) - 1))
    return lambda n: rates[((np.arange(n) + 0.5) * len(rates) / n).astype(int)]


FIXED: dict[str, Callable[[int], np.ndarray]] = {
    "sdxl": spread("sdxl"),
    "sd3": spread("sd3"),
    "dreamlike": spread("dreamlike"),
    "fair": mixed(0.0, 1.0),
    "all at 0.1": mixed(0.1, 1.0),
    "all at 0.2": mixed(0.2, 1.0),
    "all at 0.5": mixed(0.5, 1.0),
    "all at 0.9": mixed(0.9, 1.0),
    "all at 0.98": mixed(0.98, 1.0),
    "all one-sided": mixed(1.0, 1.0),
    "5 % at 0.9, rest fair": mixed(0.9, 0.05),
    "20 % at 0.8, rest fair": mixed(0.8, 0.2),
    "half at 0.95, half fair": mixed(0.95, 0.5),
    "half at 0.95, half at 0.3": mixed(0.95, 0.5, 0.3),
}
"""Worlds of fixed words: |2p - 1| of each of so many prompts."""
