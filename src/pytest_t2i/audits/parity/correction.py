"""Counts of male and female images corrected by people's labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.engine.build_samples import plain_sample
from pytest_t2i.audits.engine.context import AuditContext
from pytest_t2i.audits.engine.counts import widest_of
from pytest_t2i.audits.engine.detected import (
    FEMALE,
    MALE,
    CorrectedCounts,
    DetectedPrompt,
    DetectedPrompts,
)
from pytest_t2i.audits.engine.peoples_labels import (
    accuracy_of,
    distinct_labels,
    labelled_images,
    labels_of,
    why_no_random_part,
    why_no_verdict,
    why_not_corrected,
)
from pytest_t2i.audits.engine.samples import Sample, Samples
from pytest_t2i.audits.engine.score import ByLabels
from pytest_t2i.data import Interval, Prompt
from pytest_t2i.labels import LabelledSet
from pytest_t2i.statistics.correction import (
    LEAST_LABELS,
    CorrectedScores,
)

GENDER = {MALE: 1.0, FEMALE: -1.0}
"""Label of a clear image -> its number; that of any other label is 0."""


@dataclass(frozen=True)
class Correction(ByLabels):
    """The run's prompt bias scores as people's labels of some of the images correct them."""

    samples: tuple[DetectedPrompt, ...]
    """The prompts with enough labelled images."""
    left_out: int
    """Number of prompts with too few labels."""
    known: Mapping[str, float]
    """Checksum of an image -> number of people's label of it."""
    level: float
    labelled: LabelledSet

    @cached_property
    def words(self) -> list[np.ndarray]:
        """Number of the detector's label of every image, per prompt."""
        return [
            np.array([GENDER.get(d.label or "", 0.0) for d in sample.detections])
            for sample in self.samples
        ]

    @cached_property
    def people(self) -> list[np.ndarray]:
        """Number of people's label of the same images; NaN without a label."""
        return [labels_of(sample, self.known) for sample in self.samples]

    @property
    def accuracy(self) -> dict[str, Interval | None]:
        """Share of right labels of the detector on the labelled images, by people's label."""
        return accuracy_of(self.words, self.people, GENDER, self.level)

    @property
    def labels(self) -> int:
        return distinct_labels(self.samples, self.known)

    @cached_property
    def scores(self) -> CorrectedScores:
        """Prediction-powered estimates of people's scores over all images (PPI++)."""
        return statistics.corrected_scores(self.words, self.people, self.level)

    def counts(self, prompt: Prompt) -> tuple[int, int] | None:
        """Return the (male, female) images behind the evidence about the model."""
        if prompt not in self._places:
            return None
        place = self._places[prompt]
        return self.scores.pooled_male[place], self.scores.pooled_female[place]

    def seeds_of(self, prompt: Prompt) -> tuple[int, ...]:
        """Return the seeds of the images behind a prompt's counts; () with too few labels."""
        place = self._places.get(prompt)
        return () if place is None else self.samples[place].seeds

    def is_of(self, samples: DetectedPrompts) -> bool:
        return all(self.seeds_of(s.prompt) in ((), s.seeds) for s in samples)

    def labels_of_prompt(self, prompt: Prompt) -> dict[str, int]:
        """Return people's labels of one prompt's images, with the number of labelled images."""
        sample = self.samples[self._places[prompt]]
        labelled = {name for name in sample.checksums if name is not None and name in self.known}
        counts = Counter(self.known[name] for name in labelled)
        words = {**GENDER, "not clear": 0.0}
        return {word: counts[number] for word, number in words.items() if counts[number]}

    def of_prompt(self, prompt: Prompt) -> CorrectedCounts | None:
        """Return the corrected counts of one prompt; None where it has too few labels."""
        place = self._places.get(prompt)
        if place is None:
            return None
        score = self.scores.prompts[place].estimate
        counts = self.scores.effective_male[place], self.scores.effective_female[place]
        return CorrectedCounts(score, counts, self.describe(), self.labels_of_prompt(prompt))

    def magnitude(self, prompt: Prompt) -> float | None:
        """Return the estimate of the prompt's absolute score; None where it has too few labels."""
        place = self._places.get(prompt)
        return None if place is None else self.scores.magnitudes[place]

    @cached_property
    def _places(self) -> dict[Prompt, int]:
        return {sample.prompt: place for place, sample in enumerate(self.samples)}


def given_correction(samples: DetectedPrompts, labelled: LabelledSet | None) -> Correction | None:
    """Return the model's correction by --t2i-labels; None without enough labels of these images."""
    if labelled is None or why_no_verdict(samples, labelled):
        return None
    return correct(samples, labelled)


def correct(samples: DetectedPrompts, labelled: LabelledSet) -> Correction | None:
    """Return the correction by a labelled set; None where it has too few of the run's images.

    Labels correct male and female alone, and nothing while one of them is unsettled. Images are
    recognised by their content, not by the names of their files.
    """
    if not labelled.vocabulary.is_gender or labelled.unsettled:
        return None
    labels = {labelled.checksums[image.file]: GENDER.get(image.label, 0.0) for image in labelled}
    used = tuple(sample for sample in samples if labelled_images(sample, labels) >= LEAST_LABELS)
    left_out = len(samples.members) - len(used)
    correction = Correction(used, left_out, labels, samples.level, labelled)
    no_random_part = why_no_random_part(used, labels)
    return correction if not no_random_part and any(map(np.any, correction.words)) else None


def corrected_samples(context: AuditContext, samples: Samples) -> Samples:
    labelled = context.given_labels
    why, correction = why_no_verdict(samples, labelled), _prompts_correction(context)
    if correction is not None and not why and correction.is_of(samples):
        return replace(samples, corrected=correction)
    return replace(samples, corrected=given_correction(samples, labelled), why_no_verdict=why)


def corrected_sample(context: AuditContext, sample: Sample) -> Sample:
    """Return a sample with its counts corrected; or with the reason why they are not."""
    correction = _prompts_correction(context)
    if correction is not None and sample.seeds == correction.seeds_of(sample.prompt):
        return replace(sample, corrected=correction.of_prompt(sample.prompt))
    reason = why_not_corrected(sample, context.given_labels)
    return replace(sample, why_not_corrected=reason)


def _prompts_correction(context: AuditContext) -> Correction | None:
    """Return the correction by labels of all prompts; None without them or with early stopping."""
    labelled = context.given_labels
    if labelled is None or context.settings.sequential:
        return None

    def corrected() -> Correction | None:
        pairs = widest_of((p, test) for test in context.tests for p in test.selection.prompts)
        members = tuple(plain_sample(context, prompt, test) for prompt, test in pairs)
        settings = context.settings
        samples = Samples(members, settings.interval_level, settings.seed)
        return correct(samples, labelled)

    return context.once(("correction of prompts",), corrected)
