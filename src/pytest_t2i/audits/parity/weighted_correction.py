"""The model bias score corrected by labels of images drawn where the detector is unsure.

``t2i sample --for-correction`` keeps the probabilities. Single prompts keep the predicted labels,
because most have one label or none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.evidence import by_ends
from pytest_t2i.audits.log_odds import log_odds
from pytest_t2i.audits.peoples_labels import by_annotators, distinct_labels, labels_of
from pytest_t2i.audits.samples import Samples
from pytest_t2i.audits.unsettled_labels import with_fillings
from pytest_t2i.data import Evidence, Interval, Prompt, sign_of
from pytest_t2i.labels import Draw, LabelledSet
from pytest_t2i.metrics import model_bias_score
from pytest_t2i.statistics.active_correction import (
    LEAST_DRAWN,
    METHOD,
    WeightedScore,
    weighted_score,
)
from pytest_t2i.statistics.model import Estimator


@dataclass(frozen=True)
class WeightedCorrection:
    """The model bias score as labels drawn for this purpose correct it."""

    samples: Samples
    known: Mapping[str, float]
    """Checksum of a drawn image -> people's label: +1 male, -1 female, 0 not clear."""
    draw: Draw
    answered: float
    """Share of the drawn images that people labelled; those left over are a random part."""
    labelled: LabelledSet
    """The labelled images."""
    fillings: tuple[WeightedCorrection, ...] = ()
    """Corrections that include the unsettled images, each with one choice among people's labels."""

    @cached_property
    def score(self) -> WeightedScore:
        """The weighted score over all prompts."""
        parts = [self._images(place) for place in range(len(self.samples.members))]
        return weighted_score(*zip(*parts, strict=True))

    def _images(self, place: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return log odds, people's signs and drawing probabilities of a prompt's images.

        An image that was not made counts as not clear, with certainty.
        """
        sample = self.samples.members[place]
        odds = np.array([log_odds(detection) for detection in sample.detections])
        made = np.array([name is not None for name in sample.checksums])
        said = np.where(made, labels_of(sample, self.known), 0.0)
        chances = [self.draw.probabilities.get(name or "", 1.0) for name in sample.checksums]
        return odds, said, np.where(made, np.array(chances) * self.answered, 1.0)

    @property
    def by_detector(self) -> float:
        """The paper's score by the predicted labels alone."""
        return model_bias_score(self.samples.male, self.samples.female)

    def interval(self, level: float) -> Interval:
        """Return the model's score, beyond these images, with an interval.

        Each end of the interval for people's labels on these images gets an interval for the
        sampling of images; the outer ends are taken.
        """
        given = self.score.interval(level)
        low, middle, high = (
            self._at(end, level) for end in (given.low, given.estimate, given.high)
        )
        return replace(
            middle,
            low=min(low.low, middle.estimate),
            high=max(high.high, middle.estimate),
            method=f"{middle.method} + {METHOD}",
        )

    def _at(self, score: float, level: float) -> Interval:
        male, female = self.score.counts_at(score)
        return statistics.model_bias_interval(
            male,
            female,
            level=level,
            seed=self.samples.seed,
            estimator=self.samples.estimator,
            words=self.samples.words,
        )

    def evidence(self, bound: float, level: float) -> Evidence:
        """Return evidence from the interval's ends, at the level of the look if there is one."""
        own = self.samples.level if self.samples.sequential else None
        return by_ends(self.interval, lambda asked: own or asked)(bound, level)

    def of_model(self, estimator: Estimator) -> WeightedCorrection:
        """Return this correction with an estimator: it judges the model itself."""
        if estimator == self.samples.estimator:
            return self
        return replace(self, samples=replace(self.samples, estimator=estimator))

    def counts(self, prompt: Prompt) -> None:
        """Return None: no prompt is corrected by itself."""

    def describe(self) -> str:
        """Return the correction in words."""
        of = by_annotators(self.labelled)
        return f"corrected by {self.labels} labels{of} of images drawn for it"

    @property
    def labels(self) -> int:
        """Number of people's labels of these images."""
        return distinct_labels(self.samples, self.known)


def correct_weighted(samples: Samples, labelled: LabelledSet) -> WeightedCorrection | None:
    """Return the correction by images drawn with known probabilities.

    Returns None where too few of the drawn images are labelled, or where an image of the run could
    not be drawn because it was made later or its prompt was not in the sample.
    """
    return with_fillings(labelled, lambda settled: _correction(samples, settled, labelled))


def _correction(
    samples: Samples, settled: LabelledSet, labelled: LabelledSet
) -> WeightedCorrection | None:
    draw = labelled.draw
    known = {
        name: float(sign_of(image.label))
        for image in settled
        if (name := settled.checksums[image.file]) in draw.drawn
    }
    made = [name for sample in samples for name in sample.checksums if name is not None]
    labels = sum(name in known for name in made)
    if labels < LEAST_DRAWN or not all(name in draw.probabilities for name in made):
        return None
    answered = min(1.0, len(known) / len(draw.drawn))
    one = WeightedCorrection(samples, known, draw, answered, labelled)
    return one if math.isfinite(one.score.least) and samples.clear_images else None
