"""What is said of objects: how often it is wrong, and how much is found.

python tests/simulations/objects.py 500 > tests/simulations/objects.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import numpy as np
from object_worlds import WORLDS, counts, frequent_with_one, objects_of
from uncertainty import rate

from pytest_t2i import statistics
from pytest_t2i.audits.objects.counts import VARIANTS
from pytest_t2i.metrics import object_independence
from pytest_t2i.statistics.objects import object_bias_p_values

PERMUTATIONS = 199
"""At this number p <= 0.05 has a chance of exactly 0.05 at most."""
ALPHA = 0.05
COMPARED = ((0, 1, 2), (0, 1), (0, 2), (1, 2))
PLANTED = 4
TRIPLETS = (10, 50)


def dependent(table: np.ndarray, seed: int) -> bool:
    """Whether "objects do not depend on the variant" is rejected."""
    totals = table.sum(axis=0)
    if table.shape[2] < 2 or not totals.sum(axis=1).all():
        return False
    tested = statistics.independence_p_value(
        table, level=0.95, seed=seed, permutations=PERMUTATIONS
    )
    return tested.estimate <= ALPHA


def rejected(
    world: str, triplets: int, suites: int, seed: int, planted: int = 0
) -> dict[str, list[bool]]:
    """Suite by suite, whether independence is rejected: "before", and of what is compared now."""
    found: dict[str, list[bool]] = {}
    for number in range(suites):
        table = counts(world, triplets, np.random.default_rng([seed, number]), planted)
        found.setdefault("before", []).append(dependent(frequent_with_one(table), number))
        for places in COMPARED:
            chosen = objects_of(table).frequent(places).counts
            found.setdefault(named(places), []).append(dependent(chosen, number))
    return found


def named(places: Iterable[int]) -> str:
    """``feminine, masculine``."""
    return ", ".join(VARIANTS[place] for place in places)


def single(
    world: str, triplets: int, suites: int, seed: int, planted: int = 0
) -> dict[str, list[float]]:
    """Suite by suite: whether a fair object fails, how many planted ones do, what is covered."""
    rows: dict[str, list[float]] = {}
    for number in range(suites):
        rng = np.random.default_rng([seed, number, 1])
        # Without company each planted object has exactly the odds that are stated.
        table = counts(world, triplets, rng, planted, company=not planted)
        objects = objects_of(table)
        true = np.array([0.75 if int(name) < planted else 0.5 for name in objects.judged])
        women, men = objects.gendered.counts.swapaxes(0, 1)
        raw = object_bias_p_values(men, women, 0.6, seed=number)
        fails = statistics.benjamini_hochberg(raw) <= ALPHA
        wrong = fails & (true <= 0.6)
        rows.setdefault("any wrong", []).append(float(wrong.any()))
        rows.setdefault("wrong of those that fail", []).append(wrong.sum() / max(1, fails.sum()))
        rows.setdefault("found", []).append(float((fails & (true > 0.6)).sum() / max(1, planted)))
        even = object_bias_p_values(men, women, 0.5, seed=number)
        any_even = (statistics.benjamini_hochberg(even) <= ALPHA) & (true == 0.5)
        rows.setdefault("any wrong at 0.5", []).append(float(any_even.any()))
        single_ones = objects._intervals
        covers = [float(t in single_ones[n]) for t, n in zip(true, objects.judged, strict=True)]
        rows.setdefault("covered", []).append(float(np.mean(covers)))
        most = max(objects.judged, key=lambda name: abs(single_ones[name].estimate - 0.5))
        its_truth = true[objects.judged.index(most)]
        rows.setdefault("most one-sided, its own interval", []).append(
            float(its_truth in single_ones[most])
        )
        told = objects.highest_bias_score.interval
        rows.setdefault("most one-sided, as told", []).append(float(its_truth in told))
    return rows


def pearson(world: str, suites: int, seed: int) -> tuple[list[float], list[float]]:
    """p-values of fair suites, by permutation and Pearson's."""
    ours, plain = [], []
    for number in range(suites):
        table = counts(world, 50, np.random.default_rng([seed, number, 2]))
        chosen = objects_of(table).frequent().counts
        tested = statistics.independence_p_value(
            chosen, level=0.95, seed=number, permutations=PERMUTATIONS
        )
        ours.append(tested.estimate)
        plain.append(object_independence(chosen.sum(axis=0)).p_value)
    return ours, plain


def print_independence(suites: int) -> None:
    """Rejections of fair suites, and of suites with planted objects."""
    for planted, title in ((0, "fair suites"), (PLANTED, f"suites with {PLANTED} planted objects")):
        print(f"\n## Independence: {title} that are rejected at 0.05\n")
        names = " | ".join(("selected by one variant (before)", *map(named, COMPARED)))
        print(f"| world | triplets | {names} |\n|---|---:|{'---|' * (1 + len(COMPARED))}")
        for world in WORLDS:
            for triplets in TRIPLETS:
                found = rejected(world, triplets, suites, 11, planted)
                cells = [rate(found["before"]), *(rate(found[named(p)]) for p in COMPARED)]
                print(f"| {world} | {triplets} | {' | '.join(cells)} |", flush=True)


def print_again(suites: int) -> None:
    """The rows of few triplets with another seed and more suites."""
    print("\n## Independence: fair suites of 10 triplets once more\n")
    print(
        f"Another seed, {suites} suites: of 40 cells above, one or two lie beyond 0.05 by chance,"
    )
    print("and cells of a row share their suites.\n")
    print(f"| world | {' | '.join(map(named, COMPARED))} |\n|---|{'---|' * len(COMPARED)}")
    for world in ("20 common", "Zipf, exponent 1.2"):
        found = rejected(world, 10, suites, 31)
        print(f"| {world} | {' | '.join(rate(found[named(p)]) for p in COMPARED)} |", flush=True)
    third = rate(one_pair("20 common", 10_000, 77))
    print("\nThe test is exact, so what lies above is chance: 20 common objects, 10 triplets,")
    print(f"feminine and masculine, a third seed, 10,000 suites: {third}.")


def one_pair(world: str, suites: int, seed: int) -> list[bool]:
    """Whether feminine and masculine are told apart in fair suites of 10 triplets."""
    tables = (counts(world, 10, np.random.default_rng([seed, k])) for k in range(suites))
    return [dependent(objects_of(t).frequent((1, 2)).counts, k) for k, t in enumerate(tables)]


def main(suites: int = 500) -> None:
    """Print the page."""
    print("# What is said about objects: simulation\n")
    print(f"Made by `python tests/simulations/objects.py {suites}`, seeded: {suites} suites a row,")
    print(
        "four images of each prompt. Objects come in company (ten of a scene), and each triplet has"
    )
    print(
        "objects of its own; `object_worlds.py` has the worlds. At least 10 occurrences are asked."
    )
    print("In brackets the 95 % interval of a rate (Clopper-Pearson): the error of the simulation.")
    print_independence(suites)
    print_again(4 * suites)
    print_single(suites)
    print_pearson(suites)


def print_single(suites: int) -> None:
    """Of single objects."""
    print("\n## Single objects\n")
    print(
        "Against limits of 0.5 (no bias at all) and 0.6; planted are four objects at 0.15 and 0.45"
    )
    print(
        "(score 0.75). The most one-sided object is chosen by its score: its own interval does not"
    )
    print(
        "know that, the interval that `highest_bias_score` tells holds for all objects at once.\n"
    )
    columns = (
        "world", "triplets", "planted", "an unbiased object fails 0.5", "fails 0.6",
        "wrong of those that fail", "planted found", "0.95 intervals cover",
        "of the most one-sided: its own", "as told",
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    for world in WORLDS:
        for triplets in TRIPLETS:
            for planted in (0, PLANTED):
                rows = single(world, triplets, max(50, suites // 2), 12, planted)
                cells = (
                    rate(rows["any wrong at 0.5"]), rate(rows["any wrong"]),
                    f"{np.mean(rows['wrong of those that fail']):.3f}",
                    f"{np.mean(rows['found']):.2f}" if planted else "",
                    f"{np.mean(rows['covered']):.3f}",
                    rate(rows["most one-sided, its own interval"]),
                    rate(rows["most one-sided, as told"]),
                )  # fmt: skip
                print(f"| {world} | {triplets} | {planted} | {' | '.join(cells)} |", flush=True)


def print_pearson(suites: int) -> None:
    """Pearson's test beside ours."""
    cuts = (0.01, 0.05, 0.1, 0.5, 0.9)
    print("\n## Pearson's test\n")
    print("It takes occurrences for independent of one another; images of one triplet share their")
    print("words, which makes it blind. p-values of fair suites of 50 triplets at most\n")
    print(f"| world | test | {' | '.join(map(str, cuts))} |\n|---|---|{'---:|' * len(cuts)}")
    for world in WORLDS:
        for test, p in zip(("permutation", "Pearson's"), pearson(world, suites, 13), strict=True):
            shares = " | ".join(f"{np.mean(np.array(p) <= cut + 1e-9):.3f}" for cut in cuts)
            print(f"| {world} | {test} | {shares} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
