"""False alarms of whole suites: null models against limits, and the same model twice.

python tests/simulations/false_alarms.py > tests/simulations/false_alarms.md
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from worlds import table7

from pytest_t2i import statistics
from pytest_t2i.data import Interval, Limit, Outcome
from pytest_t2i.verdicts import judge as verdicts
from pytest_t2i.verdicts.limits import read_limits

LIMITS = read_limits(Path(__file__).parents[2] / "suites" / "limits.toml")
PROMPTS, IMAGES, LEVEL, RESAMPLES = 100, 20, 0.95, 400

Share = Callable[[np.random.Generator], np.ndarray]


def level_of(bias: float) -> Share:
    """Every prompt has this |2p - 1|."""
    return lambda _: np.full(PROMPTS, (1 + bias) / 2)


def like_sdxl(bias: float | None = None) -> Share:
    """The rates of Lyu Table 7; given a bias, drawn and shrunk to that mean."""
    score = 2 * table7("sdxl") - 1
    if bias is None:
        return lambda _: (1 + score) / 2
    shrunk = score * bias / np.mean(np.abs(score))
    return lambda rng: (1 + rng.choice(shrunk, PROMPTS)) / 2


def mixed(*biases: float) -> Share:
    """Prompts at these biases in equal parts."""
    return lambda _: (1 + np.resize(biases, PROMPTS)) / 2


AGAINST_LIMITS: dict[str, Share] = {
    "fair": level_of(0.0),
    "every prompt at the model's limit, 0.2": level_of(0.2),
    "SDXL's rates shrunk to the model's limit": like_sdxl(0.2),
    "every prompt at its own limit, 0.5": level_of(0.5),
    "half of the prompts at 0.5, half at 0.95": mixed(0.5, 0.95),
}
TWICE: dict[str, Share] = {"fair": level_of(0.0), "SDXL's rates": like_sdxl()}


@cache
def prompt_evidence(male: int, bound: float) -> tuple[Interval, float]:
    """Interval and p-value of a prompt against its limit."""
    pair = (male, IMAGES - male)
    interval = abs(statistics.prompt_bias_interval(*pair, LEVEL))
    return interval, statistics.bias_p_value(*pair, bound)


def against_limits(share: Share, repeats: int, seed: int) -> dict[str, float]:
    """How often the model's check and any null check of a suite fails, and the FDR of prompts."""
    rng = np.random.default_rng(seed)
    of_model, of_prompt = LIMITS["model_bias_score"], LIMITS["prompt_bias_score"]
    found = {"model": 0, "passed": 0, "fdr": 0.0, "found": 0.0, "suite": 0}
    for repeat in range(repeats):
        true = share(rng)
        male = rng.binomial(IMAGES, true)
        interval = statistics.model_bias_interval(
            male, IMAGES - male, level=LEVEL, seed=seed + repeat, resamples=RESAMPLES
        )
        model = verdicts.judge(interval, of_model, "higher").outcome
        intervals, p = zip(*(prompt_evidence(int(k), of_prompt.bound) for k in male), strict=True)
        judged = verdicts.judge_family(intervals, p, of_prompt, "higher", level=LEVEL)
        failed = np.array([one.outcome is Outcome.FAIL for one in judged])
        null = np.abs(2 * true - 1) <= of_prompt.bound + 1e-9
        false = failed & null
        found["model"] += model is Outcome.FAIL
        found["passed"] += model is Outcome.PASS
        found["fdr"] += false.sum() / max(1, failed.sum())
        found["found"] += failed[~null].mean() if not null.all() else 0.0
        found["suite"] += bool(false.any()) or model is Outcome.FAIL
    return {name: count / repeats for name, count in found.items()}


@cache
def regression_p_values(margin: float) -> np.ndarray:
    """p-value of a prompt with k male images now (row) and j before (column)."""

    def labels(male: int) -> np.ndarray:
        return np.repeat([1, -1], [male, IMAGES - male])

    each = range(IMAGES + 1)
    return np.array(
        [
            [
                statistics.paired_prompt_p_value(
                    labels(j), labels(k), margin=margin, shared_seeds=False
                )
                for j in each
            ]
            for k in each
        ]
    )


def twice(
    share: Share, repeats: int, seed: int, *, margins: bool, after: Share | None = None
) -> dict[str, float]:
    """The same of a model and a baseline, with the margins of the limits file or without.

    ``after`` is the model now; without it, the same model with other seeds. ``each`` is the mean
    share of prompts that fail.
    """
    rng = np.random.default_rng(seed)
    zero = Limit("", 0.0)
    for_model = (LIMITS["model_bias_score.margin"] if margins else zero).bound
    for_prompt = (LIMITS["prompt_bias_score.margin"] if margins else zero).bound
    p_values = regression_p_values(for_prompt)
    found = {"model": 0.0, "prompts": 0.0, "suite": 0.0, "each": 0.0}
    for repeat in range(repeats):
        before = rng.binomial(IMAGES, share(rng))
        now = rng.binomial(IMAGES, (after or share)(rng))
        change = statistics.paired_model_bias_change(
            before, IMAGES - before, now, IMAGES - now,
            level=LEVEL, seed=seed + repeat, resamples=RESAMPLES,
        )  # fmt: skip
        verdict = verdicts.judge_regression(change, "model_bias_score", for_model)
        failed = statistics.benjamini_hochberg(p_values[now, before]) <= 1 - LEVEL
        model = verdict.outcome is Outcome.FAIL
        found["model"] += model
        found["prompts"] += bool(failed.any())
        found["suite"] += model or bool(failed.any())
        found["each"] += float(failed.mean())
    return {name: count / repeats for name, count in found.items()}


def upper(rate: float, repeats: int) -> float:
    """Upper end of the exact 95 % interval of a rate."""
    return statistics.clopper_pearson(round(rate * repeats), repeats, 0.95).high


def shown(rate: float, repeats: int) -> str:
    """A rate and what it is at most."""
    return f"{rate:.4f} (at most {math.ceil(upper(rate, repeats) * 1e4) / 1e4:.4f})"


def main(repeats: int = 2000) -> None:
    """Print the tables."""
    print("# False alarms of whole suites: simulation\n")
    print(f"Made by `python tests/simulations/false_alarms.py {repeats}`, seeded: {repeats} suites")
    print(f"of {PROMPTS} prompts x {IMAGES} images each, confidence {LEVEL}, limits and margins of")
    print("suites/limits.toml; 400 resamples. In brackets the upper end of the rate's exact 95 %")
    print(
        "interval. A suite fails when its model check or any prompt's check does. FDR: mean share"
    )
    print("of null prompts among those that fail; where all are null, the chance that any fails.")
    print("Found: share of the prompts beyond their limit that fail.\n")
    print("## Against limits\n")
    print("| model | model check fails | it passes | FDR of prompts | suite fails | found |")
    print("|---|---|---|---|---|---|")
    for name, share in AGAINST_LIMITS.items():
        r = against_limits(share, repeats, seed=1)
        # Above the model's limit its FAIL is no false alarm.
        over = "0.5" in name
        model = f"{r['model']:.3f} (rightly)" if over else shown(r["model"], repeats)
        suite = "-" if over else shown(r["suite"], repeats)
        found = f"{r['found']:.3f}" if "0.95" in name else "-"
        print(f"| {name} | {model} | {r['passed']:.3f} | {shown(r['fdr'], repeats)} | {suite} "
              f"| {found} |", flush=True)  # fmt: skip
    print("\n## The same model twice, other seeds\n")
    print("| model | margins | model gate fails | any prompt fails (FDR) | suite fails |")
    print("|---|---|---|---|---|")
    for name, share in TWICE.items():
        for margins in (True, False):
            r = twice(share, repeats, seed=2, margins=margins)
            cells = " | ".join(shown(r[key], repeats) for key in ("model", "prompts", "suite"))
            said = "0.05 and 0.2" if margins else "none"
            print(f"| {name} | {said} | {cells} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
