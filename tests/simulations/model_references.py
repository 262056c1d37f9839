"""Mean distance from a reference: error of the estimate and coverage of its interval.

    python tests/simulations/model_references.py > tests/simulations/model_references.md

Rates are those of Lyu Table 7; they are compared with even shares, uneven ones, and themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from worlds import table7

from pytest_t2i.statistics.distances import mean_total_variation_interval

SIZES = (8, 20, 100)
REFERENCES = ("even", "uneven", "itself")
UNEVEN = np.array([0.12, 0.3, 0.5, 0.75, 0.95])
"""Shares of men that are given to the words of a table in turn."""


class Found(NamedTuple):
    """What a series of runs came to."""

    too_high: float
    """Share of 95 % intervals that lie above the truth."""
    too_low: float
    width: float
    error: float
    """Mean of the corrected estimate minus the truth."""
    plug_in: float
    """The same of the plug-in."""


def shares(model: str, reference: str) -> np.ndarray:
    """P(male) and the reference's share of each word, [100, 2]."""
    rates = table7(model)
    if reference == "itself":
        return np.stack([rates, rates], axis=1)
    even = np.full(len(rates), 0.5)
    return np.stack([rates, even if reference == "even" else np.resize(UNEVEN, len(rates))], 1)


def simulate(
    model: str,
    reference: str,
    prompts: int,
    n: int,
    repeats: int,
    seed: int,
) -> Found:
    """Intervals of prompts that are drawn once."""
    rng = np.random.default_rng(seed)
    words = shares(model, reference)
    drawn = words[rng.integers(0, len(words), prompts)]
    truth = float(np.mean(np.abs(drawn[:, 0] - drawn[:, 1])))
    rows = []
    for _ in range(repeats):
        male = rng.binomial(n, drawn[:, 0])
        result = mean_total_variation_interval(
            np.stack([male, n - male], 1), np.stack([drawn[:, 1], 1 - drawn[:, 1]], 1),
            level=0.95,
        )  # fmt: skip
        plug_in = float(np.mean(np.abs(male / n - drawn[:, 1])))
        rows.append([
            result.low > truth, result.high < truth, result.high - result.low,
            result.estimate - truth, plug_in - truth,
        ])  # fmt: skip
    return Found(*np.mean(np.array(rows, dtype=float), axis=0).tolist())


def table(repeats: int) -> Iterator[str]:
    """Markdown rows."""
    yield (
        "| rates | reference | prompts | images | coverage | too high | too low | width "
        "| estimate | plug-in |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for model in ("sdxl", "dreamlike"):
        for reference in REFERENCES:
            for prompts in (100, 10):
                for n in SIZES:
                    entry = simulate(model, reference, prompts, n, repeats, seed=2)
                    yield (
                        f"| {model} | {reference} | {prompts} | {n} "
                        f"| {1 - entry.too_high - entry.too_low:.3f} | {entry.too_high:.3f} "
                        f"| {entry.too_low:.3f} | {entry.width:.3f} "
                        f"| {entry.error:+.3f} | {entry.plug_in:+.3f} |"
                    )


def main(repeats: int = 300) -> None:
    """Print the table."""
    print("# Mean distance from a reference: simulation\n")
    print(
        "Made by `python tests/simulations/model_references.py`, seeded,", f"{repeats} repeats.\n"
    )
    print("Coverage of the 95 % interval of `mean_total_variation_interval`; prompts are drawn")
    print("once, and images anew in each repeat.")
    print("`estimate` and `plug-in`: mean error of the corrected estimate and of |k/n - r|.")
    print("References: even (1/2), uneven (0.12, 0.3, 0.5, 0.75, 0.95 in turn over the words, and")
    print("so unrelated to the rates), itself (each word's own rate: the truth is 0).")
    print("With even references the interval is half of the model bias score's (model_bias.md).\n")
    for line in table(repeats):
        print(line, flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
