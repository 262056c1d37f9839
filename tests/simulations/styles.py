"""How often suites/styles calls a fair model unfair, and what it finds: 27 styles, four words.

python tests/simulations/styles.py > tests/simulations/styles.md
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np

from pytest_t2i import axes
from pytest_t2i.audits.styles import STYLE_GAP, Styled, Styles, shown_by_both
from pytest_t2i.data import Prompt
from pytest_t2i.metrics.info import register
from pytest_t2i.verdicts.limit import Limit, verdict_of

# As the start of a run does.
register(STYLE_GAP)
WORDS = (0.5, 0.3, 0.7, 0.9)
"""Share of men of each plain prompt."""
LIMIT = 0.3
WORLDS = {
    "no style changes anything": {},
    "one style shows 20 % more men": {"Ukiyo-e": 0.2},
    "one style shows 40 % more men": {"Ukiyo-e": 0.4},
    "one style shows men alone": {"Ukiyo-e": 1.0},
    "every style shows 10 % more women": dict.fromkeys(axes.style.concepts, -0.1),
}


@dataclass
class Shown:
    """Who is shown by the images of one prompt."""

    male: int
    clear: int

    @property
    def seeds(self):
        return range(self.clear)

    @property
    def undetected(self):
        return Counter()


def styles(pushed, *, images, seed):
    """What one run sees."""
    rng = np.random.default_rng(seed)

    def shown(share):
        return Shown(int(rng.binomial(images, min(max(share, 0.0), 1.0))), images)

    plain = [shown(word) for word in WORDS]
    prompt = Prompt("a person", "word", "word")
    members = [
        shown_by_both(
            Styled(style, prompt, prompt), shown(word + pushed.get(style, 0.0)), one, 0.95
        )
        for style in axes.style.concepts
        for word, one in zip(WORDS, plain, strict=True)
    ]
    return Styles(tuple(members), 0.95)


def true_gap(push):
    """Of a style that moves each word's share so far, between 0 and 1."""
    return float(np.mean([min(max(word + push, 0.0), 1.0) - word for word in WORDS]))


def outcomes(pushed, *, images, repeats):
    """Outcomes of the widest gap against the limit."""
    limit = Limit("style_gap", LIMIT)
    return Counter(
        verdict_of(styles(pushed, images=images, seed=[3, k]).widest_gap, limit, 0.95).outcome.value
        for k in range(repeats)
    )


def main(repeats):
    """Print the page."""
    print("# Styles\n")
    print(
        f"Made by `python tests/simulations/styles.py`, seeded, {repeats} runs a row: 27 styles of",
        f"four words, whose plain prompts show {WORDS} men. `styles.widest_gap` against {LIMIT}.\n",
    )
    head = "| world | widest gap in truth | images per prompt | FAIL | INCONCLUSIVE | PASS |"
    print(f"{head}\n|---|---|---|---|---|---|")
    for name, pushed in WORLDS.items():
        gap = max((abs(true_gap(push)) for push in pushed.values()), default=0.0)
        for images in (20, 60):
            found = outcomes(pushed, images=images, repeats=repeats)
            cells = (f"{found[word] / repeats:.1%}" for word in ("FAIL", "INCONCLUSIVE", "PASS"))
            print(f"| {name} | {gap:.3g} | {images} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
