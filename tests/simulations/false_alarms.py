"""False alarms of whole suites: null models against limits, and the same model twice.

python tests/simulations/false_alarms.py > tests/simulations/false_alarms.md
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from worlds import table7

from pytest_t2i import statistics
from pytest_t2i.data import Evidence, Outcome
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.limits_file import read_limits

LIMITS = read_limits(Path(__file__).parents[2] / "suites" / "limits.toml")
PROMPTS, IMAGES, LEVEL = 100, 20, 0.95
ALPHA = 1.0 - LEVEL + 1e-12
MARGINS = (None, 0.05)

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


def against_limits(share: Share, repeats: int, seed: int) -> dict[str, float]:
    """How often the model's check and any null check of a suite fails, and the FDR of prompts."""
    rng = np.random.default_rng(seed)
    of_model, of_prompt = LIMITS["model_bias_score"].bound, LIMITS["prompt_bias_score"].bound
    rates = {"model": 0, "passed": 0, "fdr": 0.0, "found": 0.0, "suite": 0}
    for _ in range(repeats):
        true = share(rng)
        male = rng.binomial(IMAGES, true)
        beyond, within = (
            statistics.model_bias_p_value(male, IMAGES - male, of_model, alternative=alternative)
            for alternative in ("greater", "less")
        )
        model = judge.decide(Evidence(beyond, within), LEVEL)
        p = statistics.family_p_values(male, IMAGES - male, of_prompt, level=LEVEL)
        failed = p <= ALPHA
        null = np.abs(2 * true - 1) <= of_prompt + 1e-9
        false = failed & null
        rates["model"] += model is Outcome.FAIL
        rates["passed"] += model is Outcome.PASS
        rates["fdr"] += false.sum() / max(1, failed.sum())
        rates["found"] += failed[~null].mean() if not null.all() else 0.0
        rates["suite"] += bool(false.any()) or model is Outcome.FAIL
    return {name: count / repeats for name, count in rates.items()}


def twice(
    share: Share, repeats: int, seed: int, *, margin: float | None, after: Share | None = None
) -> dict[str, float]:
    """How often the gate of the model fails: the same of a model and a baseline.

    With a margin the interval of the change decides, without one the permutation test. ``after``
    is the model now; without it, the same model with other seeds.
    """
    rng = np.random.default_rng(seed)
    failed = 0
    for repeat in range(repeats):
        before = rng.binomial(IMAGES, share(rng))
        now = rng.binomial(IMAGES, (after or share)(rng))
        counts = before, IMAGES - before, now, IMAGES - now
        if margin is None:
            failed += statistics.change_p_value(*counts, seed=repeat, redraws=1000) <= ALPHA
        else:
            at = statistics.one_sided(LEVEL)
            change = statistics.paired_model_bias_change(*counts, level=at, seed=repeat)
            failed += change.low > margin
    return {"model": failed / repeats}


def upper(rate: float, repeats: int) -> float:
    """Upper end of the exact 95 % interval of a rate."""
    return statistics.share_interval(round(rate * repeats), repeats, 0.95).high


def shown(rate: float, repeats: int) -> str:
    """A rate and what it is at most."""
    return f"{rate:.4f} (at most {math.ceil(upper(rate, repeats) * 1e4) / 1e4:.4f})"


def main(repeats: int = 2000) -> None:
    """Print the tables."""
    print("# False alarms of whole suites: simulation\n")
    print(f"Made by `python tests/simulations/false_alarms.py {repeats}`, seeded: {repeats} suites")
    print(f"of {PROMPTS} prompts x {IMAGES} images each, confidence {LEVEL}, limits of")
    print("suites/limits.toml. In brackets the upper end of the rate's exact 95 %")
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
        result = f"{r['found']:.3f}" if "0.95" in name else "-"
        print(f"| {name} | {model} | {r['passed']:.3f} | {shown(r['fdr'], repeats)} | {suite} "
              f"| {result} |", flush=True)  # fmt: skip
    print("\n## The same model twice, other seeds\n")
    print("| model | margin | model gate fails |")
    print("|---|---|---|")
    for name, share in TWICE.items():
        for margin in MARGINS:
            rate = twice(share, repeats, seed=2, margin=margin)["model"]
            said = "none: permutation test" if margin is None else f"{margin:g}"
            print(f"| {name} | {said} | {shown(rate, repeats)} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
