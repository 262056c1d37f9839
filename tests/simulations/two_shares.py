"""How often the score test of two shares rejects a true difference, exactly, at 5 to 40 images.

    python tests/simulations/two_shares.py > tests/simulations/two_shares.md

Nothing is drawn: the chances of all counts are summed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np
from scipy import special, stats

from pytest_t2i.statistics.gaps import _likeliest, share_difference_p_value

ALPHA = 0.05
SIZES = (5, 10, 20, 40)
PAIRS = list(combinations_with_replacement(SIZES, 2))
SHARES = (0.0, 0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99, 1.0)
Counted = tuple[float, float]
Test = Callable[[Counted, Counted, float], float]


def corrected(before: Counted, after: Counted, bound: float) -> float:
    """The p-value that judges, against "the difference is at most the bound"."""
    return share_difference_p_value(before, after, bound)


def plain(before: Counted, after: Counted, bound: float) -> float:
    """The same without the correction for continuity."""
    (k, n), (j, m) = after, before
    p, q = _likeliest(after, before, bound)
    variance = (p * (1.0 - p) / n + q * (1.0 - q) / m) * (n + m) / (n + m - 1.0)
    excess = k / n - j / m - bound
    if variance <= 0.0:
        return 0.0 if excess > 1e-9 else 1.0
    return float(special.ndtr(-excess / math.sqrt(variance)))


def wrong(test: Test, first: int, second: int, shares: tuple[float, float]) -> float:
    """Chance that the true difference of two shares is rejected at 5 %."""
    bound = shares[1] - shares[0]
    chances = np.outer(
        stats.binom.pmf(np.arange(first + 1), first, shares[0]),
        stats.binom.pmf(np.arange(second + 1), second, shares[1]),
    )
    likely = np.argwhere(chances > 1e-7)
    return sum(
        float(chances[j, k]) for j, k in likely if test((j, first), (k, second), bound) <= ALPHA
    )


def worst(test: Test, first: int, second: int, shares=SHARES) -> tuple[float, float, float]:
    """The largest such chance, with its shares; the other side is that of exchanged shares."""
    return max((wrong(test, first, second, (p, q)), p, q) for p in shares for q in shares)


def main() -> None:
    """Print the table."""
    print("# Differences of two shares\n\n`python tests/simulations/two_shares.py` (exact, nothing")
    print("is drawn): the largest chance that a test at 5 % rejects the true difference of two")
    print(f"shares, over {len(SHARES)} x {len(SHARES)} pairs of shares, one side.\n")
    print("| images | with the correction | at shares | without it |\n|---|---|---|---|")
    for first, second in PAIRS:
        rate, p, q = worst(corrected, first, second)
        bare = worst(plain, first, second)[0]
        print(f"| {first} and {second} | {rate:.3f} | {p:g} and {q:g} | {bare:.3f} |", flush=True)


if __name__ == "__main__":
    main()
