"""The correction of a run by people's labels on a random part of its own images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import FEMALE, MALE, CorrectedCounts
from pytest_t2i.audits.parity.weighted_correction import WeightedCorrection, correct_weighted
from pytest_t2i.audits.peoples_labels import (
    accuracy_of,
    by_annotators,
    distinct_labels,
    labelled_images,
    labels_of,
    shortage,
)
from pytest_t2i.audits.samples import Sample, Samples
from pytest_t2i.audits.unsettled_labels import with_fillings
from pytest_t2i.data import Interval, Prompt, sign_of
from pytest_t2i.labels import LabelledSet
from pytest_t2i.statistics.correction import LEAST_LABELS, CorrectedScores
from pytest_t2i.statistics.model import Estimator

WORDS = {1.0: MALE, -1.0: FEMALE, 0.0: "not clear"}
"""People's labels as numbers, in words."""


@dataclass(frozen=True)
class Correction:
    """The run's prompt bias scores as people's labels correct them."""

    samples: tuple[Sample, ...]
    """The prompts with enough labelled images."""
    left_out: int
    """Number of prompts with too few labels."""
    known: Mapping[str, float]
    """Checksum of an image -> people's label: +1 male, -1 female, 0 not clear."""
    level: float
    labelled: LabelledSet | None = None
    """The labelled images."""
    fillings: tuple[Correction, ...] = ()
    """Corrections that include the unsettled images, each with one choice among people's labels."""

    @cached_property
    def scores(self) -> CorrectedScores:
        """Prediction-powered estimates of people's scores over all images (PPI++)."""
        return statistics.corrected_scores(self._words, self._labels, self.level)

    def counts(self, prompt: Prompt) -> tuple[int, int] | None:
        """Return (male, female) of as many images as would give the same certainty unlabelled.

        Returns None for a prompt with too few labels.
        """
        if prompt not in self._places:
            return None
        place = self._places[prompt]
        return self.scores.effective_male[place], self.scores.effective_female[place]

    def of_model(self, estimator: Estimator) -> None:
        """Return None: the corrected counts are judged as a detector's counts are."""

    @property
    def accuracy(self) -> dict[str, Interval | None]:
        """Share of right labels of the detector on the labelled images, by people's label."""
        groups = {MALE: 1.0, FEMALE: -1.0}
        return accuracy_of(self._words, self._labels, groups, self.level)

    def seeds_of(self, prompt: Prompt) -> tuple[int, ...]:
        """Return the seeds of the images behind a prompt's counts; () with too few labels."""
        place = self._places.get(prompt)
        return () if place is None else self.samples[place].seeds

    def describe(self) -> str:
        """Return the correction in words."""
        of = f" ({self.left_out} prompts have fewer than {LEAST_LABELS})" * bool(self.left_out)
        return f"corrected by {self.labels} labels{by_annotators(self.labelled)}{of}"

    @property
    def labels(self) -> int:
        """Number of people's labels of these images."""
        return distinct_labels(self.samples, self.known)

    def labels_of_prompt(self, prompt: Prompt) -> dict[str, int]:
        """Return people's labels of one prompt's images, with the number of labelled images."""
        sample = self.samples[self._places[prompt]]
        labelled = {name for name in sample.checksums if name is not None and name in self.known}
        said = Counter(WORDS[self.known[name]] for name in labelled)
        return {word: said[word] for word in WORDS.values() if said[word]}

    def of_prompt(self, prompt: Prompt) -> CorrectedCounts | None:
        """Return the corrected counts of one prompt; None where it has too few labels."""
        counts = self.counts(prompt)
        if counts is None:
            return None
        filled = tuple(other for one in self.fillings if (other := one.counts(prompt)) is not None)
        labels = self.labels_of_prompt(prompt)
        return CorrectedCounts(counts, filled, self.describe(), labels)

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
    """Return the model's correction by --t2i-labels; None without enough labels of these images.

    Where the labelled images were drawn with unequal probabilities, the correction is weighted by
    them.
    """
    if labelled is None or not labelled.vocabulary.is_gender or not samples.members:
        return None
    if labelled.draw.probabilities:
        return correct_weighted(samples, labelled)
    return None if shortage(samples, labelled) else correct(samples, labelled)


def correct(samples: Samples, labelled: LabelledSet) -> Correction | None:
    """Return the correction by a labelled set; None where it has too few of the run's images.

    Images are recognised by their content, not by the names of their files.
    """
    return with_fillings(labelled, lambda settled: _correction(samples, settled, labelled))


def _correction(samples: Samples, settled: LabelledSet, whole: LabelledSet) -> Correction | None:
    known = {settled.checksums[image.file]: float(sign_of(image.label)) for image in settled}
    used = tuple(sample for sample in samples if labelled_images(sample, known) >= LEAST_LABELS)
    if not any(np.any(entry.signs) for entry in used):
        return None
    left_out = len(samples) - len(used)
    return Correction(used, left_out, known, samples.level, whole)
