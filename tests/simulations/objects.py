"""Calibration of what is said about objects; results stand in objects.md.

python tests/simulations/objects.py [SUITES]
"""

from __future__ import annotations

import sys

import numpy as np

from pytest_t2i import statistics

OBJECTS, TRIPLETS = 20, 50
CUTS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)


def suite(rng: np.random.Generator, shift: float) -> np.ndarray:
    """Objects that come in company and with some prompts; ``shift`` of them favour men 3 to 1."""
    usual = rng.uniform(0.05, 0.5, OBJECTS)
    of_prompt = np.clip(usual * rng.gamma(2.0, 0.5, (TRIPLETS, 1, OBJECTS)), 0, 0.95)
    chance = np.repeat(of_prompt, 3, axis=1)
    biased = np.arange(OBJECTS) < shift * OBJECTS
    chance[:, 1, biased], chance[:, 2, biased] = 0.15, 0.45
    shown = rng.random(chance.shape) < chance
    # Objects of one picture are no draws of their own: every second goes with its neighbour.
    shown[:, :, 1::2] |= shown[:, :, ::2] & (rng.random(shown[:, :, ::2].shape) < 0.3)
    return shown.astype(float)


def main(suites: int) -> None:
    p_values, plain, false, found, covered, within = [], [], 0, 0, 0, 0
    fails = {0.5: 0, 0.6: 0}
    for number in range(suites):
        rng = np.random.default_rng(number)
        fair = suite(rng, 0.0)
        tested = statistics.independence_p_value(fair, level=0.95, seed=number, permutations=200)
        p_values.append(tested.estimate)
        from pytest_t2i.metrics import object_independence

        plain.append(object_independence(fair.sum(axis=0)).p_value)
        for bound in fails:
            raw = statistics.object_bias_p_values(fair[:, 2], fair[:, 1], bound, seed=number)
            fails[bound] += bool((statistics.benjamini_hochberg(raw) <= 0.05).any())
        biased = suite(rng, 0.2)[:, :, ::2]
        planted = np.arange(0, OBJECTS, 2) < 0.2 * OBJECTS
        raw = statistics.object_bias_p_values(biased[:, 2], biased[:, 1], 0.6, seed=number)
        rejected = statistics.benjamini_hochberg(raw) <= 0.05
        found += int((rejected & planted).sum())
        false += int((rejected & ~planted).sum()) / max(1, int(rejected.sum()))
        intervals = statistics.object_bias_intervals(
            biased[:, 2], biased[:, 1], level=0.95, seed=number
        )
        covered += sum(0.75 in one for one, p in zip(intervals, planted, strict=True) if p and one)
        within += sum(
            0.5 in one for one, p in zip(intervals, planted, strict=True) if not p and one
        )
    shares = [float(np.mean(np.array(p_values) <= cut)) for cut in (0.01, 0.05, 0.1, 0.5, 0.9)]
    print("permutation p-values at most 0.01 0.05 0.1 0.5 0.9:", shares)
    print(
        "Pearson's:",
        [float(np.mean(np.array(plain) <= cut)) for cut in (0.01, 0.05, 0.1, 0.5, 0.9)],
    )
    print("fair suites with a failure:", {b: n / suites for b, n in fails.items()})
    print("planted found", found / suites / 2, "false discovery rate", false / suites)
    print("coverage of 0.75", covered / suites / 2, "of 0.5", within / suites / 8)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
