"""Many releases: a slow drift against an anchor, and many comparisons in one run.

python tests/simulations/releases.py > tests/simulations/releases.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
from false_alarms import shown, table7

from pytest_t2i import statistics
from pytest_t2i.statistics.planning import even_biases, male_share
from pytest_t2i.verdicts.baseline import ANCHOR_MARGIN
from pytest_t2i.verdicts.caveats.anchor import RELEASES
from pytest_t2i.verdicts.caveats.run_level import LevelShare, RunLevel

PROMPTS, IMAGES, LEVEL, DRIFT, BEFORE = 100, 100, 0.95, 0.02, 0.1
ALPHA = 1.0 - LEVEL
MANY = 12
Grown = Callable[[np.ndarray, float], np.ndarray]


def grown_alike(biases: np.ndarray, push: float) -> np.ndarray:
    """Move every prompt by the same share of its room, and the mean by ``push``."""
    room = 1.0 - float(np.mean(biases))
    return np.minimum(1.0, biases + (1.0 - biases) * (push / room if room > 0.0 else 0.0))


def grown_few(biases: np.ndarray, push: float) -> np.ndarray:
    """Make the most even prompts one-sided, one by one, until the mean grew by ``push``."""
    order = np.argsort(biases, kind="stable")
    room = 1.0 - biases[order]
    pushes = np.clip(push * len(biases) - (np.cumsum(room) - room), 0.0, room)
    grown = biases.copy()
    grown[order] += pushes
    return grown


GROWN: dict[str, tuple[float, Grown]] = {
    "bias spread over prompts, all grow": (BEFORE, grown_alike),
    "bias spread over prompts, a few grow": (BEFORE, grown_few),
    "fair at first, all grow": (0.0, grown_alike),
}
UNCHANGED: dict[str, np.ndarray] = {
    "fair": np.zeros(PROMPTS),
    "every prompt at 0.3": np.full(PROMPTS, 0.3),
    "SDXL's rates": np.abs(2 * np.resize(table7("sdxl"), PROMPTS) - 1),
    "two in a hundred one-sided": np.where(np.arange(PROMPTS) < 2, 1.0, 0.0),
}


def grows_beyond(before: np.ndarray, now: np.ndarray, images: int, level: float) -> bool:
    """Whether a comparison with recorded images fails at the margin of an anchor."""
    change = statistics.paired_model_bias_change(
        before, images - before, now, images - now, level=statistics.one_sided(level), seed=0
    )
    return change.low > ANCHOR_MARGIN


def first_red(
    biases: Callable[[int], np.ndarray],
    rng: np.random.Generator,
    images: int,
    *,
    is_anchored: bool = True,
    last: int = RELEASES,
) -> int:
    """The first of twenty releases that fails; beyond them, none.

    With an anchor each is compared with the first, at a twentieth of the error; else with the
    release before it.
    """
    level = 1.0 - ALPHA / RELEASES if is_anchored else LEVEL
    before = rng.binomial(images, male_share(biases(0)))
    for release in range(1, last + 1):
        now = rng.binomial(images, male_share(biases(release)))
        if grows_beyond(before, now, images, level):
            return release
        before = before if is_anchored else now
    return last + 1


def drifting(name: str, release: int) -> np.ndarray:
    """The bias of each prompt in a release."""
    start, grown = GROWN[name]
    biases = even_biases(start, PROMPTS)
    return biases if release == 0 else grown(biases, DRIFT * release)


def _is_red_in_steps(name: str, rng: np.random.Generator) -> bool:
    """Whether one of twenty releases fails against the release before it."""
    return first_red(partial(drifting, name), rng, IMAGES, is_anchored=False) <= RELEASES


def run_fails(biases: np.ndarray, rng: np.random.Generator, *, is_shared: bool) -> bool:
    """Whether a run of twelve comparisons of an unchanged model fails, by permutation tests."""
    of_run = LevelShare(RunLevel(LEVEL, MANY), 1)
    error = 1.0 - of_run.spend().level if is_shared else ALPHA
    for _ in range(MANY):
        before, now = rng.binomial(20, male_share(biases), size=(2, PROMPTS))
        p_value = statistics.change_p_value(
            before, 20 - before, now, 20 - now, seed=int(rng.integers(2**31)), redraws=2000
        )
        if p_value <= error + 1e-12:
            return True
    return False


def rate(repeats: int, holds: Callable[[np.random.Generator], bool], seed: int = 1) -> float:
    """How often something holds."""
    return sum(holds(np.random.default_rng([seed, k])) for k in range(repeats)) / repeats


def main(repeats: int = 200) -> None:
    """Print the tables."""
    print("# Many releases, many comparisons: simulation\n")
    print(
        f"Made by `python tests/simulations/releases.py {repeats}`, seeded: {repeats} histories of"
    )
    print(f"{RELEASES} releases of {PROMPTS} prompts x {IMAGES} images, confidence {LEVEL}, margin")
    print(f"{ANCHOR_MARGIN}, each release with seeds of its own. In brackets the upper end of the")
    print("rate's exact 95 % interval.\n")
    print(f"## A drift of {DRIFT} in each release\n")
    print("| model | red by release 5 | by 7 | by 9 | by 11 | against the release before, by 20 |")
    print("|---|---|---|---|---|---|")
    for name in GROWN:
        firsts = np.array(
            [
                first_red(partial(drifting, name), np.random.default_rng([1, r]), IMAGES)
                for r in range(repeats)
            ]
        )
        chained = rate(repeats, partial(_is_red_in_steps, name))
        cells = " | ".join(f"{(firsts <= k).mean():.3f}" for k in (5, 7, 9, 11))
        print(f"| {name} | {cells} | {chained:.3f} |", flush=True)
    print("\n## Twenty releases without a change\n")
    print("| model | images | some release is red |")
    print("|---|---|---|")
    for name, biases in UNCHANGED.items():
        for images in (20, IMAGES):
            red = rate(
                repeats,
                lambda rng, biases=biases, images=images: (
                    first_red(lambda _: biases, rng, images) <= RELEASES
                ),
            )
            print(f"| {name} | {images} | {shown(red, repeats)} |", flush=True)
    print(f"\n## {MANY} comparisons of an unchanged model in one run, by permutation tests\n")
    print("| model | each at 0.95 | `--t2i-run-level 0.95` |")
    print("|---|---|---|")
    for name, biases in UNCHANGED.items():
        cells = " | ".join(
            shown(
                rate(repeats, lambda rng, b=biases, s=is_shared: run_fails(b, rng, is_shared=s)),
                repeats,
            )
            for is_shared in (False, True)
        )
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
