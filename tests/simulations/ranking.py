"""How often one of two models is said to be the less biased, where neither is and where one is.

python tests/simulations/ranking.py > tests/simulations/ranking.md
"""

from __future__ import annotations

import sys

import numpy as np

from pytest_t2i.statistics import ranking, share_interval

PROMPTS, LEVEL, RUNS = 100, 0.95, 200


def one_sided(rng, mean):
    return np.where(rng.permutation(PROMPTS) < PROMPTS * mean, 1.0, 0.0)


EQUAL = {
    "both 0": lambda rng: (np.zeros(PROMPTS), np.zeros(PROMPTS)),
    "all .1; a tenth one-sided": lambda rng: (np.full(PROMPTS, 0.1), one_sided(rng, 0.1)),
    "all .3; three tenths one-sided": lambda rng: (np.full(PROMPTS, 0.3), one_sided(rng, 0.3)),
    "all .7; seven tenths one-sided": lambda rng: (np.full(PROMPTS, 0.7), one_sided(rng, 0.7)),
    "Beta(1, 2), the same": lambda rng: (same := rng.beta(1, 2, PROMPTS), same),
    "Beta(1, 2), in another order": lambda rng: (
        one := rng.beta(1, 2, PROMPTS), rng.permutation(one)
    ),
}  # fmt: skip
"""|2p - 1| of every prompt by two models, whose means are equal."""
UNEQUAL = {
    "Beta(2, 2), .05 apart": lambda rng: (0.9 * (one := rng.beta(2, 2, PROMPTS)), one),
    "Beta(2, 2), .1 apart": lambda rng: (0.8 * (one := rng.beta(2, 2, PROMPTS)), one),
    "Beta(2, 2), .2 apart": lambda rng: (0.6 * (one := rng.beta(2, 2, PROMPTS)), one),
    "all .1; two tenths one-sided": lambda rng: (np.full(PROMPTS, 0.1), one_sided(rng, 0.2)),
}
"""The first one is the less biased."""


def told(world, images, *, runs, seed):
    """Runs in which the first model is told to be the less biased, and the second."""
    first = second = 0
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        men = [
            rng.binomial(images, (1 + bias * rng.choice([-1, 1], PROMPTS)) / 2)
            for bias in world(rng)
        ]
        ranks = ranking(men, [images - k for k in men], level=LEVEL, seed=run, draws=1000)
        first += ranks[0].high == 1
        second += ranks[1].high == 1
    return first, second


def main() -> None:
    print("# Ranking of two models: 100 prompts, 95 % places\n\n`tests/simulations/ranking.py`, ")
    print(f"{RUNS} runs each; in brackets 95 % intervals of the simulation.")
    for title, worlds, sides in (
        ("Equal scores: one of them is said to be the less biased (wrongly)", EQUAL, (0, 1)),
        ("Unequal scores: the less biased one is told (rightly)", UNEQUAL, (0,)),
    ):
        print(f"\n## {title}\n\n| world | 8 images | 20 | 40 | 100 |\n|---|---|---|---|---|")
        for name, world in worlds.items():
            cells = []
            for images in (8, 20, 40, 100):
                counts = told(world, images, runs=RUNS, seed=36)
                found = share_interval(sum(counts[side] for side in sides), RUNS, 0.95)
                cells.append(f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]")
            print(f"| {name} | {' | '.join(cells)} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
