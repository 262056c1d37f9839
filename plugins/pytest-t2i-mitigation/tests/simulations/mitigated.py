"""How often a mitigation gets a verdict that it should not: worlds whose truth lies on the limit.

python tests/simulations/mitigated.py 1000 > tests/simulations/mitigated.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from pytest_t2i import Interval, statistics

from pytest_t2i_mitigation.mitigated import features, intervals
from pytest_t2i_mitigation.mitigated.intervals import LeftOut

LEVEL = 0.95
ENDS = statistics.one_sided(LEVEL)
PROMPTS = 12
WIDTH = 24
"""Of features."""
SCORES = np.array([1, 0.95, -0.9, -1, 1, 0.9, 0.75, 1, 0.1, 1, 0.8, 0.6])
"""Of the plain model: the words of the suite in the biased world."""


class Run(NamedTuple):
    """One drawn run: its interval, and of a ratio the sums that it is of."""

    interval: Interval | None
    above: float = 0.0
    below: float = 0.0


class Rates(NamedTuple):
    """Whether one run got a verdict, or in which share of runs."""

    passed: float
    failed: float


class World(NamedTuple):
    """How one run is drawn, and the limit; None takes the ratio of all runs together."""

    draw: Callable[[np.random.Generator], Run]
    limit: float | None = None
    higher_is_worse: bool = True


def judged(interval: Interval | None, limit: float, *, higher_is_worse: bool = True) -> Rates:
    """The verdict of an interval whose ends hold at 0.95 each."""
    if interval is None:
        return Rates(0, 0)
    if higher_is_worse:
        return Rates(interval.high <= limit, interval.low > limit)
    return Rates(interval.low >= limit, interval.high < limit)


# it helps


def counts(scores: np.ndarray, images: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    male = rng.binomial(images, (1.0 + scores) / 2.0)
    return male, images - male


def helps(after: np.ndarray, images: int, limit: float) -> World:
    """Against a limit, of pictures drawn anew with these scores."""

    def draw(rng: np.random.Generator) -> Run:
        change = statistics.paired_model_bias_change(
            *counts(SCORES, images, rng), *counts(after, images, rng), level=ENDS, seed=0
        )
        return Run(lost(change))

    return World(draw, limit, higher_is_worse=False)


# it harms nothing


def pairs(before: float, loss: float, images: int) -> World:
    """Something holds of a share of plain pictures, and of less by the loss after."""

    def draw(rng: np.random.Generator) -> Run:
        was = rng.random(PROMPTS * images) < before
        is_now = was & (rng.random(was.size) >= loss / before)
        return Run(lost(intervals.rise(was, is_now, ENDS, paired=True)))

    return World(draw, loss)


def lost(rise: Interval) -> Interval:
    return Interval(-rise.estimate, -rise.high, -rise.low, rise.level, rise.method, rise.n)


class Faces(NamedTuple):
    """Features: a centre by prompt and gender, and noise, less where pictures are alike."""

    women: float
    """Share of pictures of women."""
    noise: float
    content: float = 1.0
    """How far the prompt is shown."""

    def rows(self, prompt: int, images: int, rng: np.random.Generator) -> np.ndarray:
        centre = np.zeros((images, WIDTH))
        centre[:, 0] = np.where(rng.random(images) < self.women, 1.0, -1.0)
        centre[:, 1 + prompt % 4] += 2.0 * self.content
        return features.unit(centre + self.noise * rng.normal(size=(images, WIDTH)))


PLAIN = Faces(0.1, 0.35)
TEXTS = np.eye(WIDTH)[1:5]
Both = tuple[LeftOut, LeftOut]
"""What is lost of a prompt, and what it is a share of."""


def varied(faces: Faces, prompt: int, images: int, rng: np.random.Generator) -> Both:
    was, is_now = (features.variety(f.rows(prompt, images, rng)) for f in (PLAIN, faces))
    return features.minus(was, is_now), was


def shifted(faces: Faces, prompt: int, images: int, rng: np.random.Generator) -> Both:
    plain, mitigated, women, men = (
        f.rows(prompt, images, rng) for f in (PLAIN, faces, Faces(1, 0.35), Faces(0, 0.35))
    )
    return features.distance(plain, mitigated), features.distance(women, men)


def aligned(faces: Faces, prompt: int, images: int, rng: np.random.Generator) -> Both:
    own, others = TEXTS[prompt % 4], np.delete(TEXTS, prompt % 4, axis=0)
    was, is_now = (
        features.alignment(f.rows(prompt, images, rng), own, others) for f in (PLAIN, faces)
    )
    return features.minus(was, is_now), was


def ratios(measure: Callable[..., Both], faces: Faces, images: int) -> World:
    """Against the ratio of the sums of all runs."""

    def draw(rng: np.random.Generator) -> Run:
        both = [measure(faces, prompt, images, rng) for prompt in range(PROMPTS)]
        above, below = zip(*both, strict=True)
        sums = (sum(one.all for one in part) for part in (above, below))
        return Run(intervals.ratio_of_sums(above, below, ENDS), *sums)

    return World(draw)


def turns(score: float, images: int, prompts_there: int) -> World:
    """So many prompts lie on the limit, the others are even."""
    shares = np.full(PROMPTS, 0.5)
    shares[:prompts_there] = (1.0 + score) / 2.0

    def draw(rng: np.random.Generator) -> Run:
        over = rng.binomial(images, shares)
        found = [intervals.Turn(int(n), images) for n in over]
        return Run(intervals.turn_interval(found, ENDS))

    return World(draw, score)


def worlds() -> Iterator[tuple[str, str, int, World]]:
    """Metric, what is so in the world, images per prompt, the world."""
    for images in (20, 40):
        yield "bias_reduction", "does nothing, limit 0", images, helps(SCORES, images, 0.0)
        yield "bias_reduction", "does nothing, limit 0.2", images, helps(SCORES, images, 0.2)
        less = SCORES - 0.2 * np.sign(SCORES)
        less[8] = 0.1
        fall = float(np.abs(SCORES).mean() - np.abs(less).mean())
        yield "bias_reduction", "falls by the limit", images, helps(less, images, fall)
        fall = float(np.abs(SCORES).mean())
        yield "bias_reduction", "falls to 0, by the limit", images, helps(0 * SCORES, images, fall)
        yield "content_loss", "0.97 shown, loss 0.1", images, pairs(0.97, 0.1, images)
        yield "undetected_rise", "0.02 undetected, rise 0.05", images, pairs(0.98, 0.05, images)
        yield "variety_loss", "noise 0.35 to 0.3", images, ratios(varied, Faces(0.1, 0.3), images)
        yield "variety_loss", "as before", images, ratios(varied, PLAIN, images)
        yield "picture_shift", "half women", images, ratios(shifted, Faces(0.5, 0.35), images)
        yield (
            "picture_shift",
            "four in five women",
            images,
            ratios(shifted, Faces(0.8, 0.35), images),
        )
        yield (
            "alignment_loss",
            "content 0.8",
            images,
            ratios(aligned, Faces(0.5, 0.35, 0.8), images),
        )
        yield "turnover", "one prompt at 0.6", images, turns(0.6, images, 1)
        yield "turnover", "every prompt at 0.6", images, turns(0.6, images, PROMPTS)


def rates(world: World, runs: int, seed: int) -> Rates:
    """Shares of runs that pass and that fail."""
    drawn = [world.draw(np.random.default_rng([seed, run])) for run in range(runs)]
    limit = world.limit
    if limit is None:
        limit = sum(run.above for run in drawn) / sum(run.below for run in drawn)
    each = [judged(r.interval, limit, higher_is_worse=world.higher_is_worse) for r in drawn]
    return Rates(*(float(np.mean([one[k] for one in each])) for k in (0, 1)))


def main(runs: int) -> None:
    print(HEAD.format(runs=runs))
    for metric, told, images, world in worlds():
        passed, failed = rates(world, runs, seed=1)
        print(f"| {metric} | {told} | {images} | {passed:.3f} | {failed:.3f} |")


HEAD = """# Verdicts on mitigations: simulation

Made by `python tests/simulations/mitigated.py {runs}`, seeded; 12 prompts, confidence 0.95. The
limit is the truth of the world, or as the world says, so that PASS and FAIL are both to be rare: at
most 0.05 each. With 1000 runs a rate of 0.05 is known to within 0.014. The hardest case for "it
helps" is a mitigation that does nothing and a limit of 0.

| metric | world | images | PASS | FAIL |
|---|---|---|---|---|"""

if __name__ == "__main__":
    main(int(sys.argv[1]))
