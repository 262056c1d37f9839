"""How often the exact test of two shares rejects a true difference, exactly, at 5 to 20 images.

    python tests/simulations/two_shares.py > tests/simulations/two_shares.md

Nothing is drawn: the chances of all counts are summed.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from scipy import stats

from pytest_t2i.statistics.gaps import share_difference_p_value

ALPHA = 0.05
SIZES = (5, 10, 20)
PAIRS = list(combinations_with_replacement(SIZES, 2))
SHARES = (0.0, 0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99, 1.0)


def wrong(first: int, second: int, shares: tuple[float, float]) -> float:
    """Chance that the true difference of two shares is rejected at 5 %."""
    bound = shares[1] - shares[0]
    chances = np.outer(
        stats.binom.pmf(np.arange(first + 1), first, shares[0]),
        stats.binom.pmf(np.arange(second + 1), second, shares[1]),
    )
    likely = np.argwhere(chances > 1e-7)
    return sum(
        float(chances[j, k])
        for j, k in likely.tolist()
        if share_difference_p_value((j, first), (k, second), bound) <= ALPHA
    )


def worst(first: int, second: int, shares=SHARES) -> tuple[float, float, float]:
    """The largest such chance, with its shares; the other side is that of exchanged shares."""
    return max((wrong(first, second, (p, q)), p, q) for p in shares for q in shares)


def main() -> None:
    """Print the table."""
    print("# Differences of two shares\n\n`python tests/simulations/two_shares.py` (exact, nothing")
    print("is drawn): the largest chance that a test at 5 % rejects the true difference of two")
    print(f"shares, over {len(SHARES)} x {len(SHARES)} pairs of shares, one side.\n")
    print("| images | rejected | at shares |\n|---|---|---|")
    for first, second in PAIRS:
        rate, p, q = worst(first, second)
        print(f"| {first} and {second} | {rate:.3f} | {p:g} and {q:g} |", flush=True)


if __name__ == "__main__":
    main()
