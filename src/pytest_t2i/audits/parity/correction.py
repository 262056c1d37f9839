"""A run corrected by people's labels on a random part of its own images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import FEMALE, MALE, CorrectedCounts
from pytest_t2i.audits.parity.weighted_correction import WeightedCorrection, correct_weighted
from pytest_t2i.audits.peoples_labels import accuracy_of, by_annotators, labelled_images, labels_of
from pytest_t2i.audits.samples import Sample, Samples
from pytest_t2i.audits.unsettled_labels import with_fillings
from pytest_t2i.data import Interval, Prompt, sign_of
from pytest_t2i.labels import LabelledSet
from pytest_t2i.statistics import CorrectedScores, Estimator
from pytest_t2i.statistics.correction.strata import LEAST_LABELS


@dataclass(frozen=True)
class Correction:
    """What labels say of the detector's scores on the run's prompts."""

    samples: tuple[Sample, ...]
    """Those prompts of which enough images are labelled."""
    left_out: int
    """Prompts with too few labels."""
    known: Mapping[str, float]
    """Checksum of an image -> +1 male, -1 female, 0 not clear, by people."""
    level: float
    seed: int
    labelled: LabelledSet | None = None
    """Whose labels they are."""
    fillings: tuple[Correction, ...] = ()
    """The same with images that people labelled differently, given one of the labels in each."""

    @cached_property
    def scores(self) -> CorrectedScores:
        """Prediction-powered estimates of what people would say of all images (PPI++)."""
        return statistics.corrected_scores(self._words, self._labels, self.level)

    @cached_property
    def adjusted(self) -> Interval | None:
        """A second opinion on the model bias score (Rogan-Gladen); None where it cannot be had."""
        try:
            return statistics.adjusted_model_bias_score(
                self._words, self._labels, level=self.level, seed=self.seed
            )
        except ValueError:
            return None

    def counts(self, prompt: Prompt) -> tuple[int, int] | None:
        """Male and female images of as many as would be as sure without labels; None without."""
        if prompt not in self._places:
            return None
        place = self._places[prompt]
        return self.scores.effective_male[place], self.scores.effective_female[place]

    def of_model(self, estimator: Estimator) -> None:
        """None: the counts that labels leave are judged as a detector's are."""

    @property
    def accuracy(self) -> dict[str, Interval | None]:
        """How often the detector's label is right on the labelled images, by people's label."""
        groups = {MALE: 1.0, FEMALE: -1.0}
        return accuracy_of(self._words, self._labels, groups, self.level)

    def seeds_of(self, prompt: Prompt) -> tuple[int, ...]:
        """Seeds of the images behind a prompt's counts; () where it has too few labels."""
        place = self._places.get(prompt)
        return () if place is None else self.samples[place].seeds

    def describe(self) -> str:
        """In words."""
        of = f" ({self.left_out} prompts have fewer than {LEAST_LABELS})" * bool(self.left_out)
        return f"corrected by {self.scores.labels} labels{by_annotators(self.labelled)}{of}"

    def of_prompt(self, prompt: Prompt) -> CorrectedCounts | None:
        """What they make of one prompt; None where it has too few labels."""
        counts = self.counts(prompt)
        if counts is None:
            return None
        filled = tuple(other for one in self.fillings if (other := one.counts(prompt)) is not None)
        return CorrectedCounts(counts, filled, self.describe())

    @cached_property
    def _places(self) -> dict[Prompt, int]:
        return {sample.prompt: place for place, sample in enumerate(self.samples)}

    @property
    def _words(self) -> list[np.ndarray]:
        return [sample.signs.astype(float) for sample in self.samples]

    @property
    def _labels(self) -> list[np.ndarray]:
        return [labels_of(sample, self.known) for sample in self.samples]


def given_correction(
    samples: Samples, labelled: LabelledSet | None
) -> Correction | WeightedCorrection | None:
    """The correction by --t2i-labels; None without labels of these images.

    Where the labelled images were drawn with probabilities of their own, it is weighted by these.
    """
    if labelled is None or not labelled.vocabulary.is_gender or not samples.members:
        return None
    if labelled.draw.probabilities:
        return correct_weighted(samples, labelled)
    return correct(samples, labelled)


def correct(samples: Samples, labelled: LabelledSet) -> Correction | None:
    """The correction that a labelled set allows; None when it has too few of the run's images.

    Images are recognised by their content, whatever their file is called.
    """
    return with_fillings(labelled, lambda settled: _correction(samples, settled, labelled))


def _correction(samples: Samples, settled: LabelledSet, whole: LabelledSet) -> Correction | None:
    known = {settled.checksums[image.file]: float(sign_of(image.label)) for image in settled}
    used = tuple(sample for sample in samples if labelled_images(sample, known) >= LEAST_LABELS)
    if not any(np.any(entry.signs) for entry in used):
        return None
    left_out = len(samples) - len(used)
    return Correction(used, left_out, known, samples.level, samples.seed, whole)
