"""Coverage of every interval that the package offers, over the rates of Lyu Table 7.

python tests/simulations/interval_coverage.py > tests/simulations/interval_coverage.md

Intervals of counts of one prompt are enumerated exactly; those that resample are simulated.
(corrected_scores: correction.py.)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from scipy import stats
from worlds import table7

from pytest_t2i import statistics
from pytest_t2i.data import Interval
from pytest_t2i.metrics import cohen_kappa, fleiss_kappa
from pytest_t2i.statistics.change import prompt_bias_change
from pytest_t2i.statistics.detectors import (
    deviation_interval,
    f1_interval,
    fleiss_interval,
    kappa_interval,
    paired_share_change,
)
from pytest_t2i.statistics.shares import stereotype_interval

LEVEL = 0.95
SIZES = (8, 20, 100)
MODELS = ("sdxl", "sd3", "dreamlike")
RATES = np.unique(np.concatenate([table7(model) for model in MODELS]))
INNER = RATES[(RATES > 0) & (RATES < 1)]
SMALL = 1e-9


# name -> (interval of k out of n, its true value at a share p)
OF_ONE_SHARE: dict[str, tuple[Callable[[int, int], Interval], Callable[[float], float]]] = {
    "share_interval": (
        lambda k, n: statistics.share_interval(k, n, LEVEL), lambda p: p,
    ),
    "prompt_bias_interval": (
        lambda k, n: statistics.prompt_bias_interval(k, n - k, LEVEL), lambda p: 2 * p - 1,
    ),
    "its absolute value": (
        lambda k, n: abs(statistics.prompt_bias_interval(k, n - k, LEVEL)),
        lambda p: abs(2 * p - 1),
    ),
    "stereotype_interval, expected 0.5": (
        lambda k, n: stereotype_interval(k, n, 0.5, LEVEL),
        lambda p: max(0.0, p - 0.5),
    ),
    "f1_interval (J = rate)": (
        lambda k, n: f1_interval(k, n - k, 0, LEVEL), lambda p: 2 * p / (1 + p),
    ),
}  # fmt: skip


@cache
def ends(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Low and high for every number of successes."""
    result = [OF_ONE_SHARE[name][0](k, n) for k in range(n + 1)]
    return np.array([entry.low for entry in result]), np.array([entry.high for entry in result])


def exact(name: str, n: int, rates: np.ndarray) -> np.ndarray:
    """Coverage at each rate, by enumeration."""
    low, high = ends(name, n)
    target = np.array([OF_ONE_SHARE[name][1](float(p)) for p in rates])[:, None]
    holds = (low - SMALL <= target) & (target <= high + SMALL)
    return np.sum(stats.binom.pmf(np.arange(n + 1), n, rates[:, None]) * holds, axis=1)


def all_table7() -> np.ndarray:
    """The 300 rates, repeats included: means are over these."""
    return np.concatenate([table7(model) for model in MODELS])


def change_of_a_prompt(n: int) -> np.ndarray:
    """Coverage of prompt_bias_change from SDXL to Dreamlike, word by word."""
    k = np.arange(n + 1)
    result = [[prompt_bias_change(i, n - i, j, n - j, LEVEL) for j in k] for i in k]
    low = np.array([[entry.low for entry in row] for row in result])
    high = np.array([[entry.high for entry in row] for row in result])
    coverage = []
    for p, q in zip(table7("sdxl"), table7("dreamlike"), strict=True):
        target = abs(2 * q - 1) - abs(2 * p - 1)
        chance = stats.binom.pmf(k, n, p)[:, None] * stats.binom.pmf(k, n, q)
        holds = (low - SMALL <= target) & (target <= high + SMALL)
        coverage.append(np.sum(chance * holds))
    return np.array(coverage)


def change_of_a_share(n: int) -> np.ndarray:
    """Coverage of paired_share_change, images independent before and after."""
    pairs = [(b, c) for b in range(n + 1) for c in range(n + 1 - b)]
    result = [paired_share_change(b, c, n, LEVEL) for b, c in pairs]
    low, high = (np.array([getattr(entry, end) for entry in result]) for end in ("low", "high"))
    b, c = np.array(pairs).T
    coverage = []
    for p, q in zip(table7("sdxl"), table7("dreamlike"), strict=True):
        cells = [p * (1 - q), q * (1 - p)]
        chance = stats.multinomial.pmf(np.stack([b, c, n - b - c], 1), n, [*cells, 1 - sum(cells)])
        holds = (low - SMALL <= q - p) & (q - p <= high + SMALL)
        coverage.append(np.sum(chance * holds))
    return np.array(coverage)


def exact_table() -> Iterator[str]:
    """Markdown rows: coverage over the rates by enumeration."""
    yield "| interval | images | mean | lowest | at rate 0 and 1 | lowest over a fine grid |"
    yield "|---|---|---|---|---|---|"
    grid = np.linspace(0.001, 0.999, 999)
    for name in OF_ONE_SHARE:
        for n in SIZES:
            mean = exact(name, n, all_table7()).mean()
            lowest = exact(name, n, INNER).min()
            edge = exact(name, n, np.array([0.0, 1.0])).min()
            fine = exact(name, n, grid).min()
            yield f"| {name} | {n} | {mean:.3f} | {lowest:.3f} | {edge:.3f} | {fine:.3f} |"
    for name, of in (
        ("prompt_bias_change", change_of_a_prompt), ("paired_share_change", change_of_a_share),
    ):  # fmt: skip
        for n in SIZES:
            coverage = of(n)
            yield f"| {name} | {n} | {coverage.mean():.3f} | {coverage.min():.3f} | - | - |"


def drawn(model: str, prompts: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.binomial(n, rng.choice(table7(model), size=prompts))


OPTIONS = {"level": LEVEL, "resamples": 400}
Trial = Callable[[str, int, int, np.random.Generator, int], tuple[Interval, float]]


def of_mean(model: str, prompts: int, n: int, rng: np.random.Generator, seed: int):
    groups = [np.repeat([1.0, 0.0], [k, n - k]) for k in drawn(model, prompts, n, rng)]
    return statistics.mean_interval(groups, level=OPTIONS["level"]), float(np.mean(table7(model)))


def of_bounded_mean(model: str, prompts: int, n: int, rng: np.random.Generator, seed: int):
    groups = [np.repeat([1.0, 0.0], [k, n - k]) for k in drawn(model, prompts, n, rng)]
    result = statistics.mean_interval(groups, level=OPTIONS["level"], bounds=(0.0, 1.0))
    return result, float(np.mean(table7(model)))


def wrong(share: np.ndarray) -> np.ndarray:
    """P(male) by a detector that errs in one image of 20."""
    return 0.95 * share + 0.05 * (1 - share)


def of_deviation(model: str, prompts: int, n: int, rng: np.random.Generator, seed: int):
    share = rng.choice(table7(model), size=prompts)
    male = rng.binomial(n, share)
    said = rng.binomial(male, 0.95) + rng.binomial(n - male, 0.05)
    result = deviation_interval(said, n - said, male, n - male, level=OPTIONS["level"])
    k = np.arange(n + 1)
    scores = [
        np.mean(stats.binom.pmf(k, n, p[:, None]) @ np.abs(2 * k / n - 1))
        for p in (wrong(table7(model)), table7(model))
    ]
    return result, 100 * float(scores[0] / scores[1] - 1)


def raters(count: int, items: int, rng: np.random.Generator) -> np.ndarray:
    """Labels of raters who are right in 19 of 20 items, [items, raters]."""
    truth = rng.random(items) < 0.6
    return np.where(rng.random((items, count)) < 0.95, truth[:, None], ~truth[:, None])


def ratings(labels: np.ndarray) -> np.ndarray:
    return np.stack([labels.sum(axis=1), (~labels).sum(axis=1)], axis=1)


@cache
def true_kappas() -> tuple[float, float]:
    many = raters(3, 400_000, np.random.default_rng(0))
    return cohen_kappa(many[:, 0].astype(int), many[:, 1].astype(int)), fleiss_kappa(ratings(many))


def of_cohen(model: str, prompts: int, n: int, rng: np.random.Generator, seed: int):
    labels = raters(2, n, rng).astype(int)
    if np.unique(labels).size == 1:
        labels[0] = [0, 1]
    return kappa_interval(labels[:, 0], labels[:, 1], LEVEL), true_kappas()[0]


def of_fleiss(model: str, prompts: int, n: int, rng: np.random.Generator, seed: int):
    labels = ratings(raters(3, n, rng))
    if not labels.any(axis=0).all():
        labels[0] = labels[0, ::-1]
    return fleiss_interval(labels, seed=seed, **OPTIONS), true_kappas()[1]


RESAMPLING: dict[str, Trial] = {
    "mean_interval, no bounds": of_mean,
    "mean_interval, bounds 0 and 1": of_bounded_mean,
    "deviation_interval": of_deviation,
}
AGREEMENT: dict[str, Trial] = {"kappa_interval": of_cohen, "fleiss_interval": of_fleiss}


def sampled(
    trial: Trial, model: str, prompts: int, n: int, repeats: int, seed: int
) -> tuple[float, float, float]:
    """Share of intervals that cover, that lie too high, that lie too low."""
    rng = np.random.default_rng(seed)
    high = low = 0
    for repeat in range(repeats):
        result, target = trial(model, prompts, n, rng, seed + repeat)
        high += result.low > target + SMALL
        low += result.high < target - SMALL
    return 1 - (high + low) / repeats, high / repeats, low / repeats


def sampled_table(repeats: int) -> Iterator[str]:
    """Markdown rows: coverage by simulation, worlds in turn."""
    yield "| interval | prompts | images | coverage | too high | too low | worst model |"
    yield "|---|---|---|---|---|---|---|"
    for name, trial in RESAMPLING.items():
        for prompts in (100, 10):
            for n in SIZES:
                each = [sampled(trial, m, prompts, n, repeats, seed=7) for m in MODELS]
                mean = np.mean(each, axis=0)
                worst = min(entry[0] for entry in each)
                cells = " | ".join(f"{value:.3f}" for value in (*mean, worst))
                yield f"| {name} | {prompts} | {n} | {cells} |"
    for name, trial in AGREEMENT.items():
        for n in SIZES:
            cells = " | ".join(f"{v:.3f}" for v in sampled(trial, "", 0, n, 3 * repeats, seed=8))
            yield f"| {name} | - | {n} | {cells} | - |"


def main(repeats: int = 400) -> None:
    """Print the tables."""
    print("# Coverage of intervals: simulation\n")
    print(f"Made by `python tests/simulations/interval_coverage.py {repeats}`, seeded. Nominal")
    print("level 0.95.\n")
    print("## Intervals of one prompt, by enumeration\n")
    print(
        "Mean over the 300 rates of Lyu Table 7 (most of them 0 or 1), lowest over those strictly"
    )
    print("between 0 and 1, coverage where the rate is 0 or 1 (all images alike), lowest at any of")
    print("999 rates. Changes: from SDXL to Dreamlike, word by word.\n")
    for line in exact_table():
        print(line, flush=True)
    print("\n## Intervals that resample\n")
    print(f"Prompts drawn from Table 7, {repeats} intervals for each of SDXL, SD3 and Dreamlike")
    print(
        f"(simulation error {1.96 * np.sqrt(0.0475 / repeats):.3f} for one model); 400 resamples."
    )
    print("Deviation: a detector that errs in one image of 20. Kappa: raters who err in one item")
    print("of 20; images are items there. The model bias score: fixed_words.md and change.md.\n")
    for line in sampled_table(repeats):
        print(line, flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
