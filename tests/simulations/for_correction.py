"""How much narrower a corrected model score gets where labels go to the doubtful images.

    python tests/simulations/for_correction.py > tests/simulations/for_correction.md

100 labels in all, of 100 prompts x 20 images, by a detector that is right on 85 % of the images.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import stats
from uncertainty import rate
from worlds import table7

from pytest_t2i.statistics import model_bias_interval
from pytest_t2i.statistics.active_correction import (
    WeightedScore,
    choice_probabilities,
    doubts,
    draw_sample,
    weighted_score,
)

LEVEL = 0.95
D = 2.073
"""Distance of the two genders' evidence at which a detector is right on 85 % of the images."""
WORD = np.log(0.85 / 0.15)
Detector = Callable[[np.ndarray, np.random.Generator], np.ndarray]
"""People's signs -> log odds of male that the detector tells, NaN where it gives no label."""


def calibrated(signs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.clip(signs * D**2 / 2 + D * rng.standard_normal(signs.shape), -4.6, 4.6)


def overconfident(signs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.clip(3.0 * calibrated(signs, rng), -4.6, 4.6)


def sure_or_guessing(signs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Three images in ten are hard, and it is known which."""
    hard, noise = rng.random(signs.shape) < 0.3, rng.standard_normal(signs.shape)
    return np.clip(np.where(hard, 0.3 * noise, 6.0 * signs + noise), -4.6, 4.6)


def words_alone(male: float, female: float) -> Detector:
    """No probabilities; right on these shares of men and women."""

    def detector(signs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        right = rng.random(signs.shape) < np.where(signs > 0, male, female)
        return WORD * np.where(right, signs, -signs)

    return detector


def by_prompt(signs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Right on 60 % in every fifth prompt, on 91 % in the others; nobody knows which."""
    accuracy = np.where(np.arange(len(signs)) % 5 == 0, 0.6, 0.9125)[:, None]
    right = rng.random(signs.shape) < accuracy
    return WORD * np.where(right, signs, -signs)


def loses_women(signs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """No label for a fifth of the women, a twentieth of the men and half of what is not clear."""
    odds = calibrated(np.where(signs == 0, rng.choice([-1.0, 1.0], signs.shape), signs), rng)
    lost = np.select([signs < 0, signs > 0], [0.2, 0.05], 0.5)
    return np.where(rng.random(signs.shape) < lost, np.nan, odds)


@dataclass(frozen=True)
class World:
    """Shares of men per prompt, a detector, and how many images people call not clear."""

    name: str
    share: np.ndarray
    detector: Detector
    unclear: float = 0.0
    images: int = 20
    labels: int = 100
    truth: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "truth", float(np.mean(np.abs(2.0 * self.share - 1.0))))


FAIR, MILD = np.full(100, 0.5), np.full(100, 0.6)
FEW, HALF = np.repeat([0.95, 0.5], [10, 90]), np.repeat([0.975, 0.5], 50)
SDXL, SD3, DREAMLIKE = table7("sdxl"), table7("sd3"), table7("dreamlike")
WORLDS = (
    World("SDXL, calibrated", SDXL, calibrated),
    World("SDXL, sure or guessing", SDXL, sure_or_guessing),
    World("SDXL, overconfident", SDXL, overconfident),
    World("SDXL, words alone", SDXL, words_alone(0.85, 0.85)),
    World("SD3, words alone, 0.95 of men and 0.75 of women right", SD3, words_alone(0.95, 0.75)),
    World("Dreamlike, one in ten not clear, women lost", DREAMLIKE, loses_women, 0.1),
    World("half one-sided, half fair, calibrated", HALF, calibrated),
    World("10 of 100 at 0.9, sure or guessing", FEW, sure_or_guessing),
    World("10 of 100 at 0.9, words alone, 0.95 and 0.75", FEW, words_alone(0.95, 0.75)),
    World("0.2 throughout, calibrated", MILD, calibrated),
    World("fair, sure or guessing", FAIR, sure_or_guessing),
    World("fair, words alone", FAIR, words_alone(0.85, 0.85)),
    World("SDXL, errors by prompt", SDXL, by_prompt),
)
"""The last is the one that the method has nothing against."""
SIZES = (
    World("SDXL, calibrated", SDXL, calibrated, labels=50),
    World("SDXL, calibrated", SDXL, calibrated, labels=300),
    World("SDXL, calibrated", SDXL, calibrated, images=40),
    World("fair, sure or guessing", FAIR, sure_or_guessing, labels=50),
    World("fair, sure or guessing", FAIR, sure_or_guessing, labels=300),
    World("fair, sure or guessing", FAIR, sure_or_guessing, images=40),
)


def people(world: World, rng: np.random.Generator) -> np.ndarray:
    """Signs that people would give all images, [n_prompts, n_images]."""
    shape = (len(world.share), world.images)
    signs = np.where(rng.random(shape) < world.share[:, None], 1.0, -1.0)
    return np.where(rng.random(shape) < world.unclear, 0.0, signs)


def of_these_images(signs: np.ndarray) -> float:
    """Model bias score that people would give."""
    clear = np.abs(signs).sum(axis=1)
    return float(np.mean(np.abs(signs.sum(axis=1))[clear > 0] / clear[clear > 0]))


class Given(NamedTuple):
    """What one choice of labels gave."""

    covered: bool
    half_width: float


class Verdict(NamedTuple):
    """What is said of the model itself."""

    covered: bool
    false_fail: bool
    false_pass: bool


def corrected(signs: np.ndarray, odds: np.ndarray, chances: np.ndarray, seed: int) -> WeightedScore:
    """The score with labels drawn by these probabilities."""
    said = np.full(signs.size, np.nan)
    places = draw_sample(chances, seed)
    said[places] = signs.ravel()[places]
    return weighted_score(odds, said.reshape(signs.shape), chances.reshape(signs.shape))


def given(score: WeightedScore, signs: np.ndarray) -> Given:
    """Of these images."""
    found = score.interval(LEVEL)
    return Given(of_these_images(signs) in found, (found.high - found.low) / 2)


def verdict(score: WeightedScore, truth: float) -> Verdict:
    """Of the model, at a limit at the truth."""
    wide, narrow = (ends(score, level) for level in (LEVEL, 0.9))
    return Verdict(
        wide[0] - 1e-9 <= truth <= wide[1] + 1e-9,
        narrow[0] > truth + 1e-9,
        narrow[1] < truth - 1e-9,
    )


def ends(score: WeightedScore, level: float) -> tuple[float, float]:
    """Of the interval for the model itself, as WeightedCorrection has them."""
    found = score.interval(level)
    of = [
        model_bias_interval(*score.counts_at(end), level=level, seed=0)
        for end in (found.low, found.high)
    ]
    return of[0].low, of[1].high


def plain_half_width(signs: np.ndarray, odds: np.ndarray, labels: int, seed: int) -> float:
    """PPI++ by the detector's words and labels chosen evenly, the prompts' signs as they seem."""
    words = np.sign(np.nan_to_num(odds))
    seeming = np.where(words.sum(axis=1) < 0, -1.0, 1.0)[:, None]
    y, f = (seeming * signs).ravel(), (seeming * words).ravel()
    chosen = np.zeros(y.size, dtype=bool)
    chosen[np.random.default_rng(seed).permutation(y.size)[:labels]] = True
    return ppi_half_width(y[chosen], f[chosen], f[~chosen])


def ppi_half_width(y: np.ndarray, f: np.ndarray, u: np.ndarray) -> float:
    """Half of PPI++'s interval of a mean (tests/oracles/test_ppi_python.py)."""
    spread = float(np.var(np.concatenate([f, u]), ddof=1))
    weight = np.cov(y, f, ddof=0)[0, 1] / ((1.0 + len(y) / len(u)) * spread) if spread else 0.0
    weight = min(1.0, max(0.0, float(weight)))
    variance = weight**2 * np.var(u) / len(u) + np.var(y - weight * f) / len(y)
    return float(stats.norm.isf((1.0 - LEVEL) / 2.0) * np.sqrt(variance))


def best_ratio(odds: np.ndarray) -> float:
    """What the best probabilities would leave of the half-width, were all doubts known."""
    doubt = np.concatenate(doubts(odds))
    return float(doubt.mean() / np.sqrt(np.mean(doubt**2)))


class Row(NamedTuple):
    """Of all runs of a world."""

    doubt: list[Given]
    even: list[Given]
    verdicts: list[Verdict]
    plain: list[float]
    best: list[float]


def row(world: World, repeats: int, seed: int) -> Row:
    """Labels chosen by doubt and evenly, of the same images."""
    rng = np.random.default_rng([seed, 36])
    result = Row([], [], [], [], [])
    for repeat in range(repeats):
        signs = people(world, rng)
        odds = world.detector(signs, rng)
        by_doubt = choice_probabilities(np.concatenate(doubts(odds)), world.labels)
        even = np.full(signs.size, world.labels / signs.size)
        score = corrected(signs, odds, by_doubt, repeat)
        result.doubt.append(given(score, signs))
        result.verdicts.append(verdict(score, world.truth))
        result.even.append(given(corrected(signs, odds, even, repeat), signs))
        result.plain.append(plain_half_width(signs, odds, world.labels, repeat))
        result.best.append(best_ratio(odds))
    return result


def print_rows(worlds: tuple[World, ...], repeats: int, *, sizes: bool) -> None:
    """A table."""
    first = ("world", "labels", "images") if sizes else ("world",)
    columns = (
        *first, "covers", "evenly chosen covers", "half-width", "evenly", "ratio", "best ratio",
        "PPI++ by words", "ratio", "covers the model", "false FAIL", "false PASS",
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |")
    print(f"|{'---|' * len(columns)}")
    pooled: list[bool] = []
    for number, world in enumerate(worlds):
        of = row(world, repeats, number + 100 * sizes)
        own, evenly = (float(np.mean([t.half_width for t in way])) for way in (of.doubt, of.even))
        words = float(np.mean(of.plain))
        cells = (
            world.name, *((str(world.labels), str(world.images)) if sizes else ()),
            rate([t.covered for t in of.doubt]), rate([t.covered for t in of.even]),
            f"{own:.3f}", f"{evenly:.3f}", f"{own / evenly:.2f}", f"{np.mean(of.best):.2f}",
            f"{words:.3f}", f"{own / words:.2f}",
            *(rate(column) for column in zip(*of.verdicts, strict=True)),
        )  # fmt: skip
        print(f"| {' | '.join(cells)} |", flush=True)
        if world.detector is not by_prompt:
            pooled += [t.covered for t in of.doubt]
    print(f"\nAll but errors by prompt: {rate(pooled)} covered.")


def main(repeats: int = 200, sizes: int = 60) -> None:
    """Print the tables."""
    print("# Labels where they decide: `t2i label export --for-correction`\n")
    print(f"`python tests/simulations/for_correction.py`, {repeats} runs each; in brackets 95 %")
    print("intervals of the simulation. 100 labels, 100 prompts x 20 images, a detector that is")
    print("right on 85 % of the images. Covered is the score that people would give on all images")
    print("of the run; half-widths are its interval's, at 0.95. Evenly: the same estimate with")
    print("every image as likely. Best ratio: what probabilities in proportion to the doubt leave,")
    print("were each doubt known and no prompt's sign open. PPI++ by words: that of evenly")
    print("chosen labels and the detector's words, as `ppi-python` has it. Covers the model, false")
    print("FAIL and PASS: of the model's own score, FAIL and PASS at a limit at the truth (5 %).\n")
    print_rows(WORLDS, repeats, sizes=False)
    print(f"\n## Other numbers\n\n{sizes} runs each.\n")
    print_rows(SIZES, sizes, sizes=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
