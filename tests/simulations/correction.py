"""Bias and coverage of scores corrected by people's labels, for detectors with published errors.

The detectors err as Lyu Table 3 says, the truth is Lyu Table 7, 20 images a prompt, of which some
are labelled at random:

    python tests/simulations/correction.py > tests/simulations/correction.md
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from uncertainty import rate
from worlds import table7

from pytest_t2i.statistics import corrected_scores, model_bias_interval, model_bias_p_value

TABLE3 = Path(__file__).parents[1] / "oracles" / "published" / "lyu_table3.json"
LOW_QUALITY = 0.1248
"""Share of low-quality images: what plain CLIP, which keeps all, loses in precision (Table 3)."""
IMAGES = 20
LEVEL = 0.95


@dataclass(frozen=True)
class Errors:
    """Rates of one detector (Lyu Table 3), as shares."""

    recall: float
    filter_rate: float
    male: float
    female: float

    @classmethod
    def of(cls, detector: str) -> Errors:
        facts = json.loads(TABLE3.read_text(encoding="utf-8"))
        row = next(row for row in facts["rows"] if row[0] == detector)
        names = ("recall", "filter_rate", "accuracy_male", "accuracy_female")
        return cls(*(row[facts["columns"].index(name)] / 100 for name in names))


def draw(model: str, errors: Errors, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """People's signs and the detector's, [n_prompts, IMAGES] each: +1, -1, 0.

    What a detector says of a low-quality image that it keeps is not published: the gender that
    the prompt would have given.
    """
    share = table7(model)[:, None]
    shape = (len(share), IMAGES)
    clear = rng.random(shape) >= LOW_QUALITY
    male = rng.random(shape) < share
    kept = np.where(
        clear, rng.random(shape) < errors.recall, rng.random(shape) >= errors.filter_rate
    )
    right = np.where(clear, rng.random(shape) < np.where(male, errors.male, errors.female), True)
    sign = np.where(male, 1.0, -1.0)
    return sign * clear, np.where(right, sign, -sign) * kept


def score(signs: np.ndarray) -> float:
    """Model bias score (Lyu eq. 1)."""
    clear = np.abs(signs).sum(axis=1)
    return float(np.mean(np.abs(signs.sum(axis=1))[clear > 0] / clear[clear > 0]))


def trial(model: str, detector: str, labels: int, repeats: int, seed: int) -> dict[str, float]:
    """Deviation in percent of the true score, and coverage, over repeated draws."""
    rng = np.random.default_rng(seed)
    errors = Errors.of(detector)
    result: dict[str, list[float]] = {}
    for _ in range(repeats):
        people, words = draw(model, errors, rng)
        chosen = rng.random(people.shape).argsort(axis=1) < labels
        known = np.where(chosen, people, np.nan)
        actual = score(people)
        corrected = corrected_scores(list(words), list(known), LEVEL)
        row = {
            "detector": 100 * (corrected.detector - actual) / actual,
            "corrected": 100 * (corrected.model.estimate - actual) / actual,
            "absolute": 100 * abs(corrected.model.estimate - actual) / actual,
            "covered": float(actual in corrected.model),
            "half width": (corrected.model.high - corrected.model.low) / 2,
        }
        for name, value in row.items():
            result.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in result.items()}


MILD = {
    "fair": np.zeros(100),
    "0.1 throughout": np.full(100, 0.1),
    "0.15 throughout": np.full(100, 0.15),
    "0.2 throughout": np.full(100, 0.2),
    "10 of 100 at 0.9, others fair": np.repeat([0.9, 0.0], [10, 90]),
    "SDXL's rates": np.abs(2 * table7("sdxl") - 1),
}
"""|2p - 1| of models near the limit of 0.2, and beyond it."""
SENSITIVITY, SPECIFICITY, LIMIT = 0.95, 0.8, 0.2


def judged(world: str, labels: int, repeats: int, seed: int) -> dict[str, float]:
    """How often each interval FAILs and PASSes the limit, and misses the model's score.

    "effective": of the effective counts; "added": what was done before, the interval of the
    estimated counts with the labels' half-width added in squares.
    """
    rng = np.random.default_rng(seed)
    score, total, runs = MILD[world], {}, 0
    for repeat in range(repeats):
        male = rng.random((len(score), IMAGES)) < (1 + score)[:, None] / 2
        right = rng.random(male.shape) < np.where(male, SENSITIVITY, SPECIFICITY)
        people = np.where(male, 1.0, -1.0)
        chosen = rng.random(male.shape).argsort(axis=1) < labels
        words, known = (
            list(np.where(right, people, -people)),
            list(np.where(chosen, people, np.nan)),
        )
        try:
            corrected = corrected_scores(words, known, LEVEL)
        except ValueError:  # one in a thousand looks as if it were not drawn at random
            continue
        runs += 1
        ends = {
            "effective": interval(corrected.pooled_male, corrected.pooled_female, repeat),
            "added": added(corrected, repeat),
        }
        for name, (low, high) in ends.items():
            outcomes = {
                "fail": low > LIMIT,
                "pass": high <= LIMIT,
                "covered": low - 1e-9 <= np.mean(score) <= high + 1e-9,
            }
            for outcome, value in outcomes.items():
                key = f"{name} {outcome}"
                total[key] = total.get(key, 0.0) + float(value)
    return {key: times / runs for key, times in total.items()}


AT_LIMIT: dict[str, tuple[int, int, float, tuple[tuple[float, float], ...]]] = {
    "10 x 100, one prompt that the detector gets wrong": (10, 100, 0.5, ((0.99, 0.3),)),
    "20 x 200, one prompt that the detector gets wrong": (20, 200, 0.5, ((0.99, 0.3),)),
    "20 x 200, right 0.85": (20, 200, 0.5, ((0.85, 0.85),) * 20),
    "30 x 60, right 0.7 and 0.95": (30, 60, 0.6, ((0.7, 0.95),) * 30),
    "25 x 30, right 0.99 and 0.4": (25, 30, 0.5, ((0.99, 0.4),) * 25),
}
"""Prompts, images of each, their score, and shares of men and women that the detector gets right,
of the first prompts; of the others it gets all right."""


def at_limit(world: str, labels: int, repeats: int, seed: int) -> dict[str, list[float]]:
    """Run by run, whether a model FAILs, and PASSes, a limit that is its score."""
    prompts, images, score, right = AT_LIMIT[world]
    right = right + ((1.0, 1.0),) * (prompts - len(right))
    rng = np.random.default_rng(seed)
    found: dict[str, list[float]] = {"FAIL": [], "PASS": []}
    while len(found["FAIL"]) < repeats:
        male = rng.random((prompts, images)) < (1.0 + score) / 2.0
        people = np.where(male, 1.0, -1.0)
        shares = np.array(right)[:, :, None]
        words = np.where(
            rng.random(male.shape) < np.where(male, shares[:, 0], shares[:, 1]), people, -people
        )
        chosen = rng.random(male.shape).argsort(axis=1) < labels
        try:
            corrected = corrected_scores(list(words), list(np.where(chosen, people, np.nan)), LEVEL)
        except ValueError:  # one in a thousand looks as if it were not drawn at random
            continue
        men, women = np.array(corrected.pooled_male), np.array(corrected.pooled_female)
        found["FAIL"].append(model_bias_p_value(men, women, score) <= 1.0 - LEVEL)
        passes = model_bias_p_value(men, women, score, alternative="less") <= 1.0 - LEVEL
        found["PASS"].append(passes)
    return found


def print_at_limit(repeats: int) -> None:
    """Wrong verdicts on the model where labels are few or prompts differ."""
    print("\n## Verdicts on models at their limit\n")
    print(f"{repeats} runs; in brackets 95 % intervals of the simulation.\n")
    print("| prompts x images | labels per prompt | FAIL | PASS |\n|---|---|---|---|")
    for world in AT_LIMIT:
        for labels in (5, 10, 20):
            found = at_limit(world, labels, repeats, seed=7)
            cells = " | ".join(rate(found[way]) for way in ("FAIL", "PASS"))
            print(f"| {world} | {labels} | {cells} |", flush=True)


def interval(male, female, seed: int) -> tuple[float, float]:
    """Ends of the model's interval from counts."""
    return ends_of(model_bias_interval(np.rint(male), np.rint(female), level=LEVEL, seed=seed))


def added(corrected, seed: int) -> tuple[float, float]:
    """Ends with the half-width of the labels added in squares, as it was."""
    middle = corrected.model.estimate
    half = corrected.model.high - middle
    low, high = interval(corrected.male, corrected.female, seed)
    estimate = min(max(middle, low), high)
    return estimate - np.hypot(estimate - low, half), estimate + np.hypot(high - estimate, half)


def ends_of(found) -> tuple[float, float]:
    """Low and high."""
    return found.low, found.high


def print_judged(repeats: int) -> None:
    """The table of verdicts."""
    print("\n## Verdicts on models that are fair, mild or biased\n")
    print(f"{repeats} runs of 100 prompts x {IMAGES} images, all clear and kept; sensitivity")
    print(f"{SENSITIVITY}, specificity {SPECIFICITY}. FAIL and PASS of the limit {LIMIT}, and")
    print("coverage of the model's score, by the interval of the effective counts (in brackets")
    print("by that of the estimated counts with the labels' half-width added, as it was).\n")
    print("| model | labels per prompt | FAIL | PASS | covered |\n|---|---|---|---|---|")
    for world in MILD:
        for labels in (5, 10):
            r = judged(world, labels, repeats, seed=labels)
            pairs = (
                f"{r[f'effective {name}']:.3f} ({r[f'added {name}']:.3f})"
                for name in ("fail", "pass", "covered")
            )
            print(f"| {world} | {labels} | {' | '.join(pairs)} |", flush=True)


def main(repeats: int = 400, verdicts: int = 200) -> None:
    """Print the tables."""
    print("# Scores corrected by people's labels\n")
    print(
        f"`python tests/simulations/correction.py {repeats} {verdicts}`: {repeats} runs each of "
        "100 prompts x 20 images;"
    )
    print(
        "errors of the detectors from Lyu Table 3, P(male) from Table 7, 12.5 % low-quality images."
    )
    print("Deviations in percent of the score that people give on all images; coverage at 0.95.\n")
    columns = (
        "truth", "detector", "labels per prompt", "detector's deviation", "corrected: mean",
        "mean absolute", "coverage, model", "half width",
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |")
    print("|---|---|" + "---:|" * (len(columns) - 2))
    for model in ("sdxl", "sd3", "dreamlike"):
        for detector in ("clip-enhance", "fairface", "mivolo", "clip", "clip-prob"):
            for labels in (5, 10, 15):
                r = trial(model, detector, labels, repeats, seed=labels)
                numbers = (
                    f"{r['detector']:+.2f}", f"{r['corrected']:+.2f}", f"{r['absolute']:.2f}",
                    f"{r['covered']:.3f}", f"{r['half width']:.4f}",
                )  # fmt: skip
                print(f"| {model} | {detector} | {labels} | {' | '.join(numbers)} |", flush=True)
    print_judged(verdicts)
    print_at_limit(repeats)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
