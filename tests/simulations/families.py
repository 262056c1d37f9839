"""Verdicts of many prompts: how many are wrong, how many are decided.

python tests/simulations/families.py 1000 > tests/simulations/families.md
"""

from __future__ import annotations

import sys

import numpy as np
from many_worlds import images, scores, shares

from pytest_t2i import statistics

BOUND, LEVEL, ALPHA = 0.5, 0.95, 0.05 + 1e-12


def verdicts(
    world: str, kind: int | str, repeats: int, seed: int, prompts: int | None = None
) -> dict[str, float]:  # fmt: skip
    """FAILs by ADDIS and by Benjamini-Hochberg, PASSes of each prompt by itself.

    The share of wrong verdicts among those of their kind (0 without any), the share of the prompts
    beyond their limit (within it) that get the right one, and the share of prompts decided.
    """
    rng = np.random.default_rng(seed)
    total: dict[str, float] = {}
    for _ in range(repeats):
        score = scores(BOUND)[world]
        if prompts is not None:
            score = rng.choice(score, size=prompts, replace=False)
        n = images(kind, len(score), rng)
        men = rng.binomial(n, shares(score, rng))
        beyond = score > BOUND + 1e-9
        plain = statistics.prompt_bias_p_values(men, n - men, BOUND)
        p = statistics.family_p_values(men, n - men, BOUND, level=LEVEL)
        passes = statistics.prompt_bias_p_values(men, n - men, BOUND, "within") <= ALPHA
        fails = p <= ALPHA
        row = {
            "wrong fails": share(fails & ~beyond, fails),
            "found": share(fails & beyond, beyond),
            "found by bh": share((statistics.benjamini_hochberg(plain) <= ALPHA) & beyond, beyond),
            "wrong passes": share(passes & beyond, passes),
            "wrong passes per prompt": share(passes & beyond, beyond),
            "passed": share(passes & ~beyond, ~beyond),
            "decided": float(np.mean(fails | passes)),
        }
        for name, value in row.items():
            total[name] = total.get(name, 0.0) + value / repeats
    return total


def share(part: np.ndarray, whole: np.ndarray) -> float:
    """How much of the whole is the part; 0 of nothing."""
    return float(part.sum() / max(1, whole.sum()))


def main(repeats: int = 1000) -> None:
    """Print the tables."""
    print("# Verdicts of many prompts: simulation\n")
    print(f"Made by `python tests/simulations/families.py {repeats}`, seeded: {repeats} suites of")
    print(f"100 prompts each, every prompt against |2p - 1| <= {BOUND:g}, confidence {LEVEL}.")
    print("FAIL by adaptive discarding (ADDIS), PASS of each prompt by itself. Wrong FAILs: mean")
    print("share of prompts within their limit among those that FAIL; where all are within, the")
    print("chance that any FAILs. Found: of the prompts beyond, those that FAIL (in brackets by")
    print("Benjamini-Hochberg). Wrong PASSes: of the prompts beyond, and of all that PASS.\n")
    columns = (
        "world", "images", "wrong FAILs", "found", "PASS of those within",
        "wrong PASSes of those beyond", "of all PASSes", "decided",
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |\n|---|---|{'---|' * (len(columns) - 2)}")
    for world in scores():
        for kind in (8, 10, 14, 20, 40, "2 to 40", "20, 30 % lost"):
            print_verdicts(world, kind, verdicts(world, kind, repeats, seed=7))
    print("\n## Few prompts\n")
    print(f"| {' | '.join(columns)} |\n|---|---|{'---|' * (len(columns) - 2)}")
    for world in ("SDXL's rates", "all at the limit", "half at 0.95, half at the limit"):
        for prompts in (1, 3, 10):
            result = verdicts(world, 20, repeats, seed=7, prompts=prompts)
            print_verdicts(f"{world}, {prompts} of them", 20, result)
    print_company(repeats)


def print_company(repeats: int) -> None:
    """What company does to single prompts within their limit."""
    print("\n## Single prompts within their limit, among many far beyond it\n")
    print("The share of them that FAILs: none does whose own p-value is above 0.05.\n")
    print("| world | images | FAIL |\n|---|---|---|")
    for world, score in COMPANY.items():
        for n in (20, 40):
            failing = failing_within(score, n, repeats // 4)
            print(f"| {world} | {n} | {failing:.3f} |", flush=True)


COMPANY = {
    "95 one-sided, 5 at the limit": np.repeat([1.0, BOUND], [95, 5]),
    "90 at 0.95, 10 at the limit": np.repeat([0.95, BOUND], [90, 10]),
    "95 one-sided, 5 at 0.4": np.repeat([1.0, 0.4], [95, 5]),
}


def failing_within(score: np.ndarray, n: int, repeats: int) -> float:
    """Share of the prompts within their limit that FAIL."""
    rng = np.random.default_rng([12, n])
    within, failed = score <= BOUND + 1e-9, 0.0
    for _ in range(repeats):
        men = rng.binomial(n, shares(score, rng))
        p = statistics.family_p_values(men, n - men, BOUND, level=LEVEL)
        failed += share((p <= ALPHA) & within, within)
    return failed / repeats


def print_verdicts(world: str, kind: int | str, r: dict[str, float]) -> None:
    """One row."""
    cells = (
        f"{r['wrong fails']:.4f}", f"{r['found']:.2f} ({r['found by bh']:.2f})",
        f"{r['passed']:.2f}", f"{r['wrong passes per prompt']:.3f}", f"{r['wrong passes']:.3f}",
        f"{r['decided']:.2f}",
    )  # fmt: skip
    print(f"| {world} | {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
