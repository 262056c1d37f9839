"""Hold the paths of the three strategies beside the order of the thesis' Table 4.2.

    python plugins/pytest-t2i-mitigation/tests/measured/paths.py [--prompts N]

Of each prompt and strategy one path on ``reference-sd3``, by the same seed. What is compared is
consistency (eq. 4.28), smoothness (eq. 4.31), and in the place of the Frechet distance, which is
biased at so few pictures, how far the pictures between the ends are from the nearer end. What was
printed stands in planted.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from pytest_t2i import axes, load
from scipy import stats

from pytest_t2i_mitigation.one_prompt.make import pairs

MODEL, STEPS, SEED, LEVEL = "reference-sd3", 8, 70_000, 0.95
STRATEGIES = ("text", "pre-attention", "post-attention")
PROMPTS = 30


class Claim(NamedTuple):
    """One of two strategies has less of something, says the thesis."""

    measure: str
    less: str
    more: str


CLAIMS = (
    Claim("smoothness", "pre-attention", "text"),
    Claim("smoothness", "post-attention", "text"),
    Claim("consistency", "pre-attention", "text"),
    Claim("consistency", "post-attention", "text"),
    Claim("consistency", "post-attention", "pre-attention"),
    Claim("to the nearer end", "pre-attention", "text"),
    Claim("to the nearer end", "post-attention", "text"),
    Claim("to the nearer end", "post-attention", "pre-attention"),
)
Measured = dict[str, dict[str, np.ndarray]]


def measures(search: Any) -> Mapping[str, float]:
    """What is compared of one path."""
    ends = search.distances[:, [0, -1]].min(axis=1)
    return {
        "consistency": search.consistency,
        "smoothness": search.smoothness,
        "to the nearer end": float(ends[1:-1].mean()),
    }


def told(claim: Claim, found: Measured) -> tuple[str, float, float, float]:
    """Whether the thesis' order is found: the mean difference over prompts, with its interval."""
    more, less = (found[name][claim.measure] for name in (claim.more, claim.less))
    difference = more - less
    mean, error = float(difference.mean()), float(stats.sem(difference))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(difference) - 1)) * error
    low, high = mean - reach, mean + reach
    word = "same" if low > 0 else "other" if high < 0 else "cannot be told"
    return word, mean, low, high


def measured(prompts: list[str]) -> Measured:
    """Strategy -> measure -> its value for each prompt."""
    found: Measured = {}
    for strategy in STRATEGIES:
        loaded = load(MODEL, mitigation=f"{strategy}-interpolation:mode=path", steps=STEPS)
        rows = []
        for number, prompt in enumerate(prompts, 1):
            (pair,) = pairs(loaded, prompt, [SEED])
            rows.append(measures(pair.search))
            print(f"{strategy}: {number}/{len(prompts)}", end="\r", flush=True)
        found[strategy] = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return found


def table(found: Measured) -> Iterator[str]:
    """Both tables in Markdown."""
    names = list(next(iter(found.values())))
    yield f"| strategy | {' | '.join(names)} |"
    yield "|---" * (len(names) + 1) + "|"
    for strategy, values in found.items():
        cells = (f"{values[name].mean():.4f}" for name in names)
        yield f"| {strategy} | {' | '.join(cells)} |"
    yield ""
    yield "| the thesis says | difference here | order |"
    yield "|---|---|---|"
    for claim in CLAIMS:
        word, mean, low, high = told(claim, found)
        said = f"{claim.measure}: {claim.less} below {claim.more}"
        yield f"| {said} | {mean:+.4f} [{low:+.4f}, {high:+.4f}] | {word} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=PROMPTS, metavar="N")
    chosen = parser.parse_args().prompts
    every = [p.text for axis in (axes.profession, axes.place) for p in axis.prompts()]
    print("\n".join(table(measured(every[:chosen]))))


if __name__ == "__main__":
    main()
