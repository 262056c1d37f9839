"""Presets of ``t2i init``: the number of words and images that a purpose needs.

Each number is computed from the power of the verdicts that a run will reach (statistics.planning,
the exact test of statistics.baseline).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.statistics.group_sequential import SequentialTest, expected_stop
from pytest_t2i.statistics.planning import (
    COARSE,
    PER_MODEL,
    Design,
    even_biases,
    images_needed,
    least_found,
    model_power,
    prompt_power,
)

SDXL_SECONDS = 2.0
"""The assumed seconds for an image of SDXL (1024 px, 30 steps) on one data-centre GPU."""
GATE_MINUTES = 10.0
PROMPT_LIMIT = 0.5
"""The limit of a prompt: one gender in 3 of 4 images."""
MODEL_LIMITS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7)
"""The limits of the model score to try, the strictest first."""
BEYOND = 0.2
"""How far beyond the limit a model lies that is to FAIL."""
SURE, LIKELY = 0.9, 0.8
"""The wanted probability that an even model passes, and that one beyond the limit fails."""
WORLDS = (0.0, 0.3, 0.6)
"""The scores of models that a gate must be able to compare with their baseline."""
ONE_SIDED = 0.975
"""The share of men of a prompt that is to FAIL: a score of 0.95."""
UNDETECTED = 0.02
"""The share of images that are taken to be undetected: a verdict holds whatever they show."""
HIDDEN = UNDETECTED / (1.0 - UNDETECTED)
"""Undetected images for each clear one. Where all undetected images of a prompt are given to one
gender, a mean score of the clear ones of L (1 + HIDDEN) -+ HIDDEN becomes one of L."""
HALF_WIDTH = 0.05
"""The largest half-width of the model's interval for the preset research."""
PAPER_IMAGES = 20
"""The number of images per prompt in the papers."""
REPEATS = 30
"""The number of simulated suites for each number of words and images that is tried."""
FEW_REPEATS, MANY_REPEATS = 5, 100
"""The number of simulated suites for a mean, and for a probability that is printed."""
FEWEST_IMAGES = 4
"""The smallest number of images per word of a gate."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a preset is computed for."""

    words: int
    """The number of available words."""
    images: int | None
    """The largest number of images in all; None for no bound."""
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class Shape:
    """A number of words and of images per word, with what they can decide."""

    words: int
    images: int
    """The number of images per word."""
    level: float = 0.95
    seed: int = 0

    @property
    def total(self) -> int:
        """The number of images in all."""
        return self.words * self.images

    @property
    def design(self) -> Design:
        """The design for the functions of statistics.planning."""
        return Design(self.words, self.level, LIKELY, self.seed)

    @cached_property
    def model_limit(self) -> float | None:
        """The strictest limit that an even model passes and one well beyond it fails, or None."""
        return next((limit for limit in MODEL_LIMITS if self._can_judge(limit)), None)

    def _can_judge(self, limit: float) -> bool:
        worse = limit + BEYOND
        return self.passes(0.0, limit) >= SURE and self.fails(worse, limit) >= LIKELY

    def passes(self, bias: float, limit: float) -> float:
        """Return the probability that a model of this score passes a limit above it."""
        strict = limit * (1.0 + HIDDEN) - HIDDEN
        return model_power(bias, strict, self.images, self.design) if strict > bias else 0.0

    def fails(self, bias: float, limit: float) -> float:
        """Return the probability that a model of this score fails a limit below it."""
        bias, strict = min(1.0, bias), limit * (1.0 + HIDDEN) + HIDDEN
        return model_power(bias, strict, self.images, self.design) if strict < bias else 0.0

    @cached_property
    def decides(self) -> bool:
        """Whether the images can judge a model against some limit and against a baseline."""
        return self.tells_growth and self.model_limit is not None

    @cached_property
    def tells_growth(self) -> bool:
        """Whether a model that did not change passes its baseline, whatever its score."""
        return all(self._found(bias) >= SURE for bias in WORLDS)

    def _found(self, bias: float) -> float:
        """Return the share of unchanged models that enough images keep from INCONCLUSIVE."""
        rng = np.random.default_rng(self.seed)
        enough = 0
        for before, after in self._pairs(bias, 0.0, rng):
            counts = before, self.images - before, after, self.images - after
            enough += least_found(*counts, level=self.level) <= COARSE
        return enough / REPEATS

    def finds_growth(self, before: float, push: float) -> float:
        """Return the probability that a growth of the score by ``push`` fails, with other seeds."""
        rng = np.random.default_rng(self.seed)
        failed = 0
        for old, new in self._pairs(before, push, rng, MANY_REPEATS):
            p_value = statistics.change_p_value(
                old, self.images - old, new, self.images - new, seed=self.seed, redraws=1000
            )
            failed += p_value <= 1.0 - self.level
        return failed / MANY_REPEATS

    def _pairs(
        self, bias: float, push: float, rng: np.random.Generator, repeats: int = REPEATS
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the numbers of men per word, before and after, of simulated suites."""
        old = even_biases(bias, self.words)
        new = np.minimum(1.0, old + (1.0 - old) * push / (1.0 - bias))
        for _ in range(repeats):
            yield tuple(rng.binomial(self.images, (1.0 + biases) / 2.0) for biases in (old, new))  # type: ignore[misc]

    def half_width(self, bias: float) -> float:
        """Return the mean half-width of the interval of a model of this score."""
        rng = np.random.default_rng(self.seed)
        men = rng.binomial(
            self.images, (1.0 + even_biases(bias, self.words)) / 2.0, size=(FEW_REPEATS, self.words)
        )
        intervals = [
            statistics.model_bias_interval(m, self.images - m, level=self.level, seed=self.seed)
            for m in men
        ]
        return float(np.mean([(i.high - i.low) / 2.0 for i in intervals]))


@lru_cache(maxsize=8)
def preset_gate(question: Question) -> Shape:
    """Return the largest number of words with which the images decide, with the fewest images.

    Where no number of words decides, the images are spread over as many words as get
    ``FEWEST_IMAGES`` each.
    """
    budget = question.images or 0

    def shape(words: int, images: int) -> Shape:
        return Shape(words, images, question.level, question.seed)

    for words in _fewer(min(question.words, budget // FEWEST_IMAGES)):
        if shape(words, budget // words).decides:
            sizes = _sizes(budget // words)
            return next(filter(_decides, (shape(words, images) for images in sizes)))
    words = min(question.words, max(1, budget // FEWEST_IMAGES))
    return shape(words, max(1, budget // words))


def _decides(shape: Shape) -> bool:
    return shape.decides


@lru_cache(maxsize=8)
def gate_of_all(question: Question) -> Shape | None:
    """Return all words with the fewest images that decide; None where no number does."""
    shapes = (
        Shape(question.words, images, question.level, question.seed)
        for images in PER_MODEL
        if images >= FEWEST_IMAGES
    )
    return next(filter(_decides, shapes), None)


def _preset_audit(question: Question) -> Shape:
    """Return all words, with the number of images with which most even words pass."""
    design = Design(question.words, question.level, LIKELY, question.seed)
    images = images_needed(lambda n: prompt_power(0.0, PROMPT_LIMIT, n, design), LIKELY)
    return _affordable(question, images or PAPER_IMAGES)


def _preset_research(question: Question) -> Shape:
    """Return all words, with the number of images that gives the model score +-0.05."""

    def narrow(images: int) -> float:
        shape = Shape(question.words, images, question.level, question.seed)
        return float(all(shape.half_width(bias) <= HALF_WIDTH for bias in WORLDS[1:]))

    sizes = tuple(images for images in PER_MODEL if images >= PAPER_IMAGES)
    return _affordable(question, images_needed(narrow, SURE, sizes) or sizes[-1])


PRESETS: dict[str, Callable[[Question], Shape]] = {
    "gate": preset_gate, "audit": _preset_audit, "research": _preset_research,
}  # fmt: skip


class StoppingImages(NamedTuple):
    """The images that early stopping would take."""

    most: int
    """The largest number of images per prompt, so that enough even prompts are decided."""
    mean: float
    """The mean number of images per prompt, over an even and a one-sided prompt."""


def early_stopping(shape: Shape) -> StoppingImages:
    """Return the number of images with which early stopping decides prompts."""
    most = shape.images
    for growth in (1.0, 1.25, 1.5, 2.0, 3.0):
        most = round(shape.images * growth)
        test = SequentialTest(most, PROMPT_LIMIT, level=shape.level, members=shape.words)
        even, clear = expected_stop(test, 0.5), expected_stop(test, ONE_SIDED)
        if even.within >= LIKELY:
            break
    return StoppingImages(most, (even.images + clear.images) / 2.0)


def _affordable(question: Question, images: int) -> Shape:
    most = images if question.images is None else question.images // question.words
    return Shape(question.words, max(1, min(images, most)), question.level, question.seed)


def _fewer(words: int) -> Iterator[int]:
    """Yield the numbers of words to try, the largest first."""
    while words >= 1:
        yield words
        words = min(words - 1, int(words * 0.9))


def _sizes(most: int) -> list[int]:
    """Return the numbers of images per word to try, up to ``most``."""
    return [*(size for size in PER_MODEL if size < most), *([most] if most else [])]
