"""How often the shares of women of ten languages are judged wrongly, and gaps are found.

    python tests/simulations/languages.py > tests/simulations/languages.md

Ten languages ask for the same 30 professions, whose shares of women reach from 0.1 to 0.9. The
widest difference between languages is compared with a limit of 0.2, as suites/languages does.
"""

from __future__ import annotations

import sys

import numpy as np
from uncertainty import rate

from pytest_t2i.cli.plan import parity_power
from pytest_t2i.statistics import Design
from pytest_t2i.statistics.gaps import parity_difference_p_value

LANGUAGES, WORDS, LIMIT, ERROR = 10, 30, 0.2, 0.05
IMAGES = (20, 50)
GAPS = (0.0, 0.1, 0.15, LIMIT, 0.25, 0.3, 0.4)
FAIR = np.linspace(0.1, 0.9, WORDS)


def shares(world: str, gap: float) -> np.ndarray:
    """Share of women of each language and word; the widest mean difference is the gap."""
    if world == "one language":
        steps = np.zeros(LANGUAGES)
        steps[0] = 1.0
    elif world == "half of them":
        steps = np.repeat([1.0, 0.0], LANGUAGES // 2)
    else:
        steps = np.linspace(0.0, 1.0, LANGUAGES)
    # A gap shrinks the room that words have, so that every share stays within 0 and 1.
    room = 0.1 + (FAIR - 0.1) * (0.8 - gap) / 0.8
    return room[None, :] + gap * (1.0 - steps[:, None])


WORLDS = ("one language", "half of them", "evenly spread")


def judged(world: str, gap: float, images: int, repeats: int) -> tuple[list[bool], list[bool]]:
    """Whether each run FAILs and PASSes, by the test that decides."""
    rng = np.random.default_rng([2026, 75, WORLDS.index(world), round(100 * gap), images])
    true = shares(world, gap)
    fails, passes = [], []
    for _ in range(repeats):
        drawn = rng.random((LANGUAGES, WORDS, images)) < true[..., None]
        groups = {str(number): list(of_language) for number, of_language in enumerate(drawn)}
        fails.append(parity_difference_p_value(groups, LIMIT, alternative="greater") <= ERROR)
        passes.append(parity_difference_p_value(groups, LIMIT, alternative="less") <= ERROR)
    return fails, passes


def told(gap: float, images: int) -> float:
    """The power that ``t2i plan`` tells."""
    design = Design(LANGUAGES * WORDS, 1.0 - ERROR, repeats=200)
    return parity_power(gap, LIMIT, images, design, LANGUAGES)


def main(repeats: int = 200) -> None:
    """Print the table."""
    print(
        f"# Shares of women by language\n\n`python tests/simulations/languages.py {repeats}`: "
        f"{repeats} runs a row, {LANGUAGES} languages,\n{WORDS} professions, a limit of {LIMIT:g}, "
        "5 % stated a side. FAIL up to the limit and PASS from it on are wrong.\n"
    )
    print("| world | gap | images of a word | FAIL | PASS |\n|---|---|---|---|---|")
    right: dict[tuple[float, int], list[list[bool]]] = {}
    for world in WORLDS:
        for gap in GAPS:
            for images in IMAGES:
                fails, passes = judged(world, gap, images, repeats)
                right.setdefault((gap, images), []).append(fails if gap > LIMIT else passes)
                cells = f"{images} | {rate(fails)} | {rate(passes)}"
                print(f"| {world} | {gap:g} | {cells} |", flush=True)
    print(
        "\n## What `t2i plan` tells\n\n200 suites of each of its worlds; delivered is the least of "
        "the worlds above.\n\n| gap | images of a word | told | delivered |\n|---|---|---|---|"
    )
    for (gap, images), worlds in right.items():
        if gap != LIMIT:
            least = rate(min(worlds, key=sum))
            print(f"| {gap:g} | {images} | {told(gap, images):.3f} | {least} |")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
