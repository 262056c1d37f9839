"""Bias and coverage of scores corrected by people's labels, for detectors with published errors.

The detectors err as Lyu Table 3 says, the truth is Lyu Table 7, 20 images a prompt, of which some
are labelled at random:

    python tests/simulations/correction.py > tests/simulations/correction.md
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from worlds import table7

from pytest_t2i.statistics import adjusted_model_bias_score, corrected_scores

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
    found: dict[str, list[float]] = {}
    for _ in range(repeats):
        people, words = draw(model, errors, rng)
        chosen = rng.random(people.shape).argsort(axis=1) < labels
        known = np.where(chosen, people, np.nan)
        actual = score(people)
        corrected = corrected_scores(list(words), list(known), LEVEL)
        adjusted = adjusted_model_bias_score(
            list(words), list(known), level=LEVEL, seed=0, draws=100
        )
        own = [score(row[None]) if np.any(row) else 0.0 for row in people]
        signed = np.sign(people.sum(axis=1)) * own
        row = {
            "detector": 100 * (corrected.detector - actual) / actual,
            "corrected": 100 * (corrected.model.estimate - actual) / actual,
            "absolute": 100 * abs(corrected.model.estimate - actual) / actual,
            "rogan-gladen": 100 * (adjusted.estimate - actual) / actual,
            "covered": float(actual in corrected.model),
            "prompts covered": float(
                np.mean(
                    [
                        i.low - 1e-9 <= x <= i.high + 1e-9
                        for i, x in zip(corrected.prompts, signed, strict=True)
                    ]
                )
            ),
            "half width": (corrected.model.high - corrected.model.low) / 2,
        }
        for name, value in row.items():
            found.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def main(repeats: int = 400) -> None:
    """Print the table."""
    print("# Scores corrected by people's labels\n")
    print(
        f"`python tests/simulations/correction.py`: {repeats} runs each of 100 prompts x 20 images;"
    )
    print(
        "errors of the detectors from Lyu Table 3, P(male) from Table 7, 12.5 % low-quality images."
    )
    print("Deviations in percent of the score that people give on all images; coverage at 0.95.\n")
    columns = (
        "truth", "detector", "labels per prompt", "detector's deviation", "corrected: mean",
        "mean absolute", "Rogan-Gladen", "coverage, model", "coverage, prompts", "half width",
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |")
    print("|---|---|" + "---:|" * (len(columns) - 2))
    for model in ("sdxl", "sd3", "dreamlike"):
        for detector in ("clip-enhance", "fairface", "mivolo", "clip", "clip-prob"):
            for labels in (3, 5, 10, 15):
                r = trial(model, detector, labels, repeats, seed=labels)
                numbers = (
                    f"{r['detector']:+.2f}", f"{r['corrected']:+.2f}", f"{r['absolute']:.2f}",
                    f"{r['rogan-gladen']:+.2f}", f"{r['covered']:.3f}",
                    f"{r['prompts covered']:.3f}", f"{r['half width']:.4f}",
                )  # fmt: skip
                print(f"| {model} | {detector} | {labels} | {' | '.join(numbers)} |", flush=True)


if __name__ == "__main__":
    main()
