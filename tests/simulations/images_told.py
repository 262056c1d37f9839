"""How many images are said to decide what stayed open, beside how many do.

python tests/simulations/images_told.py > tests/simulations/images_told.md
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from worlds import FIXED

from pytest_t2i.data import Interval, Outcome
from pytest_t2i.statistics import (
    Design,
    model_bias_interval,
    one_sided,
    paired_model_bias_change,
    prompt_bias_interval,
    prompt_power,
    share_interval,
)
from pytest_t2i.statistics.model import FixedWords
from pytest_t2i.statistics.planning import (
    PER_CHANGE,
    TRIED,
    Pair,
    change_images_needed,
    images_needed,
    model_images_needed,
)
from pytest_t2i.verdicts.images_to_decide import (
    ImagesRange,
    change_range,
    images_range,
    more_by_power,
)
from pytest_t2i.verdicts.judge import compare
from pytest_t2i.verdicts.measurement import TOLERATED

LEVEL, RUNS = 0.95, 300
PROMPTS = ((0.9, 0.5, 10), (0.8, 0.5, 20), (0.3, 0.5, 20), (0.0, 0.5, 12), (0.1, 0.3, 20),
           (0.7, 0.4, 20))  # fmt: skip
"""True score, limit, images of one of 100 prompts."""
MODELS = (("sdxl", 30, 0.7, 8), ("sdxl", 100, 0.7, 8), ("dreamlike", 30, 0.7, 20),
          ("all at 0.2", 30, 0.3, 8), ("all at 0.5", 30, 0.4, 10), ("fair", 30, 0.2, 10),
          ("20 % at 0.8, rest fair", 30, 0.3, 10))  # fmt: skip
"""World, prompts, limit, images."""


CHANGES = (("sdxl", 30, 0.05, 8), ("all at 0.5", 30, 0.1, 10), ("fair", 30, 0.1, 10),
           ("20 % at 0.8, rest fair", 30, 0.1, 10), ("sdxl", 10, None, 8), ("fair", 10, None, 8),
           ("all at 0.2", 30, None, 8))  # fmt: skip
"""World, prompts, margin (None: the test without one), images in either run of an equal model."""


class Told(NamedTuple):
    """What runs that stayed open say."""

    true: int | None
    """Fewest images with an even chance of the right verdict."""
    numbers: list[float]
    """What is told if the score is as measured; inf for "no sensible number"."""
    holds: int
    """Runs whose range holds the true number."""
    open: int
    """Runs whose range has no end."""


def prompt(bias: float, bound: float, n: int, *, runs: int, seed: int) -> Told:
    design = Design(100)
    true = images_needed(lambda m: prompt_power(bias, bound, m, design), 0.5)
    rng = np.random.default_rng(seed)
    known = []
    for _ in range(runs):
        men = int(rng.binomial(n, (1 + bias) / 2))
        found = abs(prompt_bias_interval(men, n - men, LEVEL))
        more = more_by_power(prompt_power, found.estimate, bound, n, Design(100, LEVEL))
        known.append((found, None if more is None else n + more))
    return _told(true, known, bound)


def model(world: str, prompts: int, bound: float, n: int, *, runs: int, seed: int) -> Told:
    bias = FIXED[world](prompts)
    rng = np.random.default_rng(seed)
    true = next((m for m in TRIED if _decided(bias, bound, m) >= 0.5), None)
    known = []
    for _ in range(runs):
        men = rng.binomial(n, (1 + bias) / 2)
        found = model_bias_interval(men, n - men, level=LEVEL, seed=0)
        if found.low <= bound <= found.high:
            known.append((found, model_images_needed(men, n - men, bound, level=LEVEL)))
    return _told(true, known, bound)


def _decided(bias: np.ndarray, bound: float, n: int, runs: int = 100) -> float:
    """Chance of the right verdict with so many images of these very prompts."""
    rng, right = np.random.default_rng(6), 0
    for men in rng.binomial(n, (1 + bias) / 2, size=(runs, len(bias))):
        seen = FixedWords.of(men, n - men)
        right += (seen.p_greater if bias.mean() > bound else seen.p_less)(bound) <= 0.05
    return right / runs


def change(world: str, prompts: int, margin: float | None, n: int, *, runs: int, seed: int) -> Told:
    """Of two runs of one model; the even chance is one of 0.8, as it is where runs say it."""
    bias = FIXED[world](prompts)
    rng = np.random.default_rng(seed)

    def pair(images: int) -> Pair:
        before, after = rng.binomial(images, (1 + bias) / 2, size=(2, prompts))
        return before, images - before, after, images - after

    def share(images: int) -> float:
        return float(np.mean([_is_decided(pair(images), margin) for _ in range(40)]))

    true = next((m for m in PER_CHANGE if share(m) >= 0.8), None)
    numbers, holds, without = [], 0, 0
    for _ in range(runs):
        seen = pair(n)
        if _is_decided(seen, margin):
            continue
        found = paired_model_bias_change(*seen, level=LEVEL, seed=0)
        changed = found.low > 0.0 or found.high < 0.0
        images = change_images_needed(seen, lambda *p: _is_decided(p, margin), changed=changed)
        numbers.append(np.inf if images is None else float(images))
        given = ImagesRange(1, None) if images is None else ImagesRange(images, images)
        if images is not None and margin is not None:
            given = change_range(images, found, margin)
        without += given.high is None
        holds += true is not None and given.low <= true <= (given.high or np.inf)
    return Told(true, numbers, holds, without)


def _is_decided(pair: Pair, margin: float | None) -> float:
    """As a run decides it."""
    if margin is None:
        margin = TOLERATED
    found = paired_model_bias_change(*pair, level=one_sided(LEVEL), seed=0)
    return float(compare(found, margin, "higher") is not Outcome.INCONCLUSIVE)


def _told(true: int | None, known: list[tuple[Interval, int | None]], bound: float) -> Told:
    numbers, holds, without = [], 0, 0
    for found, images in known:
        if not found.low <= bound <= found.high:
            continue
        if images is None:
            numbers.append(np.inf)
            holds, without = holds + 1, without + 1
            continue
        numbers.append(float(images))
        told = images_range(images, found, bound)
        without += told.high is None
        holds += true is not None and told.low <= true and (told.high is None or true <= told.high)
    return Told(true, numbers, holds, without)


def shown(count: int, n: int) -> str:
    found = share_interval(count, n, 0.95)
    return f"{found.estimate:.2f} [{found.low:.2f}, {found.high:.2f}]"


def row(name: str, told: Told) -> str:
    ends = np.quantile(told.numbers, [0.1, 0.5, 0.9], method="nearest")
    words = " | ".join("none" if np.isinf(end) else f"{end:.0f}" for end in ends)
    n = len(told.numbers)
    return f"| {name} | {told.true} | {words} | {shown(told.holds, n)} | {shown(told.open, n)} |"


def main() -> None:
    print('# "About N images would decide"\n\n`python tests/simulations/images_told.py`: '
          f"{RUNS} runs each, of which those")  # fmt: skip
    print("count that stay open; in brackets 95 % intervals of the simulation. True is the fewest")
    print("with an even chance of the right verdict; told is what a run says if its score is as")
    print("measured: one in ten say the first or less, one in ten the last or more.\n")
    print("| what | true | told: 10 % | half | 90 % | range holds the true one | no end |")
    print("|---|---|---|---|---|---|---|")
    counts = np.zeros(2, dtype=int)
    cases = [
        (f"prompt at {bias:g}, limit {bound:g}, {n} images",
         prompt(bias, bound, n, runs=RUNS, seed=51))
        for bias, bound, n in PROMPTS
    ] + [
        (f"{world}, {prompts} prompts, limit {bound:g}, {n} images",
         model(world, prompts, bound, n, runs=RUNS // 4, seed=52))
        for world, prompts, bound, n in MODELS
    ]  # fmt: skip
    for name, told in cases:
        if told.numbers:
            counts += told.holds, len(told.numbers)
            print(row(name, told))
        sys.stdout.flush()
    print(f"\nAll: {shown(int(counts[0]), int(counts[1]))} hold the true number (0.8 stated).")
    print("\n## Against a baseline\n")
    print("Two runs of one model; true is the fewest that decide in 8 of 10 runs. Without a margin")
    print("one number is told: images that decide at the tolerated 0.1.\n")
    print("| what | true | told: 10 % | half | 90 % | range holds the true one | no end |")
    print("|---|---|---|---|---|---|---|")
    for world, prompts, margin, n in CHANGES:
        told = change(world, prompts, margin, n, runs=RUNS // 12, seed=53)
        how = "no margin" if margin is None else f"margin {margin:g}"
        print(row(f"{world}, {prompts} prompts, {how}, {n} images", told), flush=True)


if __name__ == "__main__":
    main()
