"""How often intervals of OASIS' instruments hold: WALS, half of a lean.

Images are unit features of people of whom a share has an attribute; curves fall over eight steps.

    python tests/simulations/instruments.py > tests/simulations/instruments.md
"""

from __future__ import annotations

import sys
from unittest import mock

import numpy as np

from pytest_t2i import metrics
from pytest_t2i.statistics import curves as step_bands
from pytest_t2i.statistics.curves import half_step, half_step_interval
from pytest_t2i.statistics.variety import wals_interval

LEVEL = 0.95
TRUTH = np.linspace(0.3, 0.05, 8)
MIXING = np.linalg.cholesky(0.8 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8))))


def one_sided(rng: np.random.Generator, n: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """People of whom a share has the attribute, which shows in all of their features."""
    world, d = np.random.default_rng(0), 64
    common, attribute = 3.0 * world.normal(size=d), world.normal(size=d)
    loads = world.normal(size=(d, d)) * np.exp(-np.arange(d) / 8)[:, None]
    rows = common + 0.6 * rng.normal(size=(n, d)) @ loads + 0.2 * rng.normal(size=(n, d))
    rows += 1.5 * attribute * (rng.random(n) < share)[:, None]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), attribute


def wals_holds(n: int, share: float, repeats: int, *, center: bool) -> float:
    """How often an interval holds the mean of fresh sets."""
    rng = np.random.default_rng(4)
    drawn = [one_sided(rng, n, share) for _ in range(3 * repeats)]
    truth = np.mean([metrics.wals(rows, along, center=center) for rows, along in drawn])
    known = [
        wals_interval(rows, along, level=LEVEL, seed=seed, center=center, resamples=60)
        for seed, (rows, along) in enumerate(drawn[:repeats])
    ]
    return float(np.mean([truth in interval for interval in known]))


def half_holds(n: int, repeats: int) -> float:
    """How often an interval holds the step by which half of the lean is there."""
    rng, truth = np.random.default_rng(3), half_step(TRUTH)
    assert truth is not None
    curves = (TRUTH + 0.1 * rng.normal(size=(n, 8)) @ MIXING.T for _ in range(repeats))
    with mock.patch.object(step_bands, "FEWEST_HALVES", 2):
        known = [
            half_step_interval(rows, level=LEVEL, seed=seed, resamples=300)
            for seed, rows in enumerate(curves)
        ]
    told = [interval for interval in known if interval is not None]
    return float(np.mean([truth in interval for interval in told]))


def main(repeats: int = 200) -> None:
    """Print the tables."""
    print("# Intervals of OASIS' instruments\n")
    print(
        f"`python tests/simulations/instruments.py {repeats}`: {repeats} sets each, level 0.95.\n"
    )
    print("WALS, by how many images are of the rarer kind on average:\n")
    print("| images | share | of the rarer kind | plain | centred |\n|---:|---:|---:|---:|---:|")
    for n in (20, 40, 100):
        for share in (0.5, 0.9, 0.95, 0.98):
            held = [wals_holds(n, share, repeats, center=center) for center in (False, True)]
            rarer = f"{n * (1 - share):.1f}"
            print(f"| {n} | {share:.2f} | {rarer} | {held[0]:.2f} | {held[1]:.2f} |", flush=True)
    print("\nHalf of the final lean, of fewer than ten images as if it were told:\n")
    print("| images | holds |\n|---:|---:|")
    for n in (2, 3, 5, 10, 20, 40):
        print(f"| {n} | {half_holds(n, repeats):.2f} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
