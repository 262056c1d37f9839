"""Worlds of fixed words: P(male) of each prompt, by how far prompts lie from even."""

from __future__ import annotations

import numpy as np
from worlds import table7


def scores(limit: float = 0.5) -> dict[str, np.ndarray]:
    """|2p - 1| of 100 prompts in each world; prompts at the limit lie within it."""
    return {
        "SDXL's rates": np.abs(2 * table7("sdxl") - 1),
        "SD3's rates": np.abs(2 * table7("sd3") - 1),
        "Dreamlike's rates": np.abs(2 * table7("dreamlike") - 1),
        "fair": np.zeros(100),
        "mild, 0.1 throughout": np.full(100, 0.1),
        "5 of 100 at 0.9, others fair": np.repeat([0.9, 0.0], [5, 95]),
        "5 of 100 one-sided, others fair": np.repeat([1.0, 0.0], [5, 95]),
        "20 of 100 at 0.8, others fair": np.repeat([0.8, 0.0], [20, 80]),
        "all at the limit": np.full(100, limit),
        "all one-sided": np.ones(100),
        "half at 0.95, half fair": np.repeat([0.95, 0.0], 50),
        "half at 0.95, half at the limit": np.repeat([0.95, limit], 50),
        "5 one-sided, others at the limit": np.repeat([1.0, limit], [5, 95]),
        "evenly from 0 to 1": np.linspace(0.0, 1.0, 100),
    }


def shares(score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """P(male), each prompt on a side of its own."""
    return (1 + score * rng.choice([-1.0, 1.0], size=len(score))) / 2


def images(kind: int | str, prompts: int, rng: np.random.Generator) -> np.ndarray:
    """Clear images of each prompt: a number; "2 to 40"; "20, 30 % lost", by prompts of their own.

    Of the last, each prompt loses a share of its own, Beta(3, 7), of its 20 images.
    """
    if kind == "2 to 40":
        return rng.integers(2, 41, size=prompts)
    if kind == "20, 30 % lost":
        return rng.binomial(20, 1 - rng.beta(3, 7, size=prompts))
    return np.full(prompts, int(kind))
