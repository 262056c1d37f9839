"""The interval of a rank correlation of groups' scores with a quantity.

python tests/simulations/rank_trend.py > tests/simulations/rank_trend.md
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import spearmanr

from pytest_t2i.statistics import share_interval
from pytest_t2i.statistics.associations import rank_correlation_interval

LEVEL, RUNS, EXPECTED = 0.95, 200, 0.3
IMAGES = (20, 100, 500)
WORLDS = {
    "eight close groups, falling": np.linspace(0.17, 0.10, 8),
    "eight close groups, in no order": np.array([0.14, 0.10, 0.16, 0.12, 0.17, 0.11, 0.15, 0.13]),
    "eight far apart, falling": np.linspace(0.65, 0.05, 8),
    "four close and four far, falling": np.array([0.6, 0.5, 0.4, 0.3, 0.12, 0.11, 0.10, 0.09]),
    "five far apart, falling": np.linspace(0.6, 0.1, 5),
    "twenty, falling": np.linspace(0.5, 0.1, 20),
}
"""Mean score of each group."""
ATTRIBUTES = (1, 4)


def found(
    world: str, attributes: int, n: int, *, runs: int, seed: int
) -> tuple[int, int, int, float]:
    """Runs that cover, that exclude 0, that exclude it on the wrong side; mean width."""
    scores = WORLDS[world]
    quantity = np.arange(len(scores))
    true = float(spearmanr(quantity, scores).statistic)
    rng = np.random.default_rng([seed, n, attributes])
    covers = tells = wrong = 0
    width = 0.0
    for run in range(runs):
        groups = [
            [(int(rng.binomial(n, EXPECTED + score)), n, EXPECTED, 1) for _ in range(attributes)]
            for score in scores
        ]
        told = rank_correlation_interval(quantity, groups, level=LEVEL, seed=run, resamples=500)
        covers += told.low - 1e-9 <= true <= told.high + 1e-9
        tells += told.low > 0 or told.high < 0
        wrong += (told.low > 0 and true < 0) or (told.high < 0 and true > 0)
        width += (told.high - told.low) / runs
    return covers, tells, wrong, width


def shown(count: int, n: int) -> str:
    seen = share_interval(count, n, 0.95)
    return f"{seen.estimate:.3f} [{seen.low:.3f}, {seen.high:.3f}]"


def main() -> None:
    print("# Rank correlation of groups\n\n`python tests/simulations/rank_trend.py`: "
          f"{RUNS} runs each, level {LEVEL:g};")  # fmt: skip
    print(
        "in brackets 95 % intervals of the simulation. An interval that holds 0 tells no trend.\n"
    )
    print("| groups | attributes | images | covers | tells a trend | the wrong one | width |")
    print("|---|---|---|---|---|---|---|")
    pooled = np.zeros(2, dtype=int)
    for world in WORLDS:
        for attributes in ATTRIBUTES:
            for n in IMAGES:
                covers, tells, wrong, width = found(world, attributes, n, runs=RUNS, seed=71)
                pooled += covers, wrong
                rates = " | ".join(shown(count, RUNS) for count in (covers, tells, wrong))
                print(f"| {world} | {attributes} | {n} | {rates} | {width:.2f} |")
                sys.stdout.flush()
    total = RUNS * len(WORLDS) * len(ATTRIBUTES) * len(IMAGES)
    print(f"| all | | | {shown(int(pooled[0]), total)} | | {shown(int(pooled[1]), total)} | |")


if __name__ == "__main__":
    main()
