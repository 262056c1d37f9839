"""Counts corrected by people's labels: of genders, of groups, and by drawn images."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import (
    FEMALE,
    MALE,
    CorrectedCounts,
    DetectedPrompt,
    DetectedPrompts,
)
from pytest_t2i.audits.evidence import by_ends
from pytest_t2i.audits.log_odds import log_odds
from pytest_t2i.audits.peoples_labels import (
    accuracy_of,
    distinct_labels,
    labels_of,
    shortage,
    with_fillings,
)
from pytest_t2i.audits.score import ByLabels, Tally
from pytest_t2i.data import Evidence, Interval, Prompt, sign_of
from pytest_t2i.labels import Draw, LabelledSet
from pytest_t2i.metrics import model_bias_score, total_variation_distance
from pytest_t2i.statistics.active_correction import (
    LEAST_DRAWN,
    METHOD,
    WeightedScore,
    weighted_score,
)
from pytest_t2i.statistics.correction import (
    LEAST_LABELS,
    CorrectedGroupCounts,
    CorrectedScores,
    CorrectedShares,
    corrected_counts,
    corrected_shares,
)


@dataclass(frozen=True)
class WeightedCorrection(ByLabels):
    """The model bias score as labels drawn for this purpose correct it."""

    samples: DetectedPrompts
    known: Mapping[str, float]
    """Checksum of a drawn image -> people's label: +1 male, -1 female, 0 not clear."""
    draw: Draw
    answered: float
    """Share of the drawn images that people labelled; those left over are a random part."""
    labelled: LabelledSet
    """The labelled images."""
    left_out: int = 0
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
        mask = np.array([name is not None for name in sample.checksums])
        signs = np.where(mask, labels_of(sample, self.known), 0.0)
        chances = [self.draw.probabilities.get(name or "", 1.0) for name in sample.checksums]
        return odds, signs, np.where(mask, np.array(chances) * self.answered, 1.0)

    @property
    def by_detector(self) -> float:
        """The paper's score by the predicted labels alone."""
        return model_bias_score(self.samples.male, self.samples.female)

    def interval(self, level: float) -> Interval:
        """Return the model's score, beyond these images, with an interval.

        Each end of the interval for people's labels on these images gets an interval for the
        sampling of images; the outer ends are taken.
        """
        image_interval = self.score.interval(level)
        low, middle, high = (
            self._at(end, level)
            for end in (image_interval.low, image_interval.estimate, image_interval.high)
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
        look_level = self.samples.level if self.samples.sequential else None
        return by_ends(self.interval, lambda test_level: look_level or test_level)(bound, level)

    def of_model(self, score: Any) -> WeightedCorrection:
        """Return this correction with the score's estimator: it judges the model itself."""
        if score.estimator == self.samples.estimator:
            return self
        return replace(self, samples=replace(self.samples, estimator=score.estimator))

    def counts(self, prompt: Prompt) -> None:
        """Return None: no prompt is corrected by itself."""

    def describe(self) -> str:
        """Return the correction in words."""
        return f"{super().describe()} of images drawn for it"

    @property
    def labels(self) -> int:
        """Number of people's labels of these images."""
        return distinct_labels(self.samples, self.known)


def _weighted_correction(
    samples: DetectedPrompts, settled: LabelledSet, labelled: LabelledSet
) -> WeightedCorrection | None:
    """Return the correction by images drawn with known probabilities.

    Returns None where too few of the drawn images are labelled, or where an image of the run could
    not be drawn because it was made later or its prompt was not in the sample.
    """
    draw = labelled.draw
    signs = {
        name: float(sign_of(image.label))
        for image in settled
        if (name := settled.checksums[image.file]) in draw.drawn
    }
    names = [name for sample in samples for name in sample.checksums if name is not None]
    labels = sum(name in signs for name in names)
    if labels < LEAST_DRAWN or not all(name in draw.probabilities for name in names):
        return None
    answered = min(1.0, len(signs) / len(draw.drawn))
    correction = WeightedCorrection(samples, signs, draw, answered, labelled)
    return correction if math.isfinite(correction.score.least) and samples.clear_images else None


WORDS = {1.0: MALE, -1.0: FEMALE, 0.0: "not clear"}
"""People's labels as numbers, in words."""


@dataclass(frozen=True)
class Correction(ByLabels):
    """The run's prompt bias scores as people's labels correct them."""

    samples: tuple[DetectedPrompt, ...]
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

    @property
    def accuracy(self) -> dict[str, Interval | None]:
        """Share of right labels of the detector on the labelled images, by people's label."""
        groups = {MALE: 1.0, FEMALE: -1.0}
        return accuracy_of(self._words, self._labels, groups, self.level)

    def seeds_of(self, prompt: Prompt) -> tuple[int, ...]:
        """Return the seeds of the images behind a prompt's counts; () with too few labels."""
        place = self._places.get(prompt)
        return () if place is None else self.samples[place].seeds

    @property
    def labels(self) -> int:
        """Number of people's labels of these images."""
        return distinct_labels(self.samples, self.known)

    def labels_of_prompt(self, prompt: Prompt) -> dict[str, int]:
        """Return people's labels of one prompt's images, with the number of labelled images."""
        sample = self.samples[self._places[prompt]]
        labelled = {name for name in sample.checksums if name is not None and name in self.known}
        counts = Counter(WORDS[self.known[name]] for name in labelled)
        return {word: counts[word] for word in WORDS.values() if counts[word]}

    def of_prompt(self, prompt: Prompt) -> CorrectedCounts | None:
        """Return the corrected counts of one prompt; None where it has too few labels."""
        counts = self.counts(prompt)
        if counts is None:
            return None
        filled = tuple(
            filling_counts
            for filling in self.fillings
            if (filling_counts := filling.counts(prompt)) is not None
        )
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
    samples: DetectedPrompts, labelled: LabelledSet | None
) -> Correction | WeightedCorrection | None:
    """Return the model's correction by --t2i-labels; None without enough labels of these images.

    Where the labelled images were drawn with unequal probabilities, the correction is weighted by
    them.
    """
    if labelled is None or not labelled.vocabulary.is_gender or not samples.members:
        return None
    if labelled.draw.probabilities:
        return with_fillings(
            labelled, lambda settled: _weighted_correction(samples, settled, labelled)
        )
    return None if shortage(samples, labelled) else correct(samples, labelled)


def correct(samples: DetectedPrompts, labelled: LabelledSet) -> Correction | None:
    """Return the correction by a labelled set; None where it has too few of the run's images.

    Images are recognised by their content, not by the names of their files.
    """

    def by(settled: LabelledSet) -> Correction | None:
        signs = {settled.checksums[image.file]: float(sign_of(image.label)) for image in settled}
        used = tuple(sample for sample, _ in _labelled_enough(samples, signs))
        if not any(np.any(entry.signs) for entry in used):
            return None
        return Correction(used, len(samples) - len(used), signs, samples.level, labelled)

    return with_fillings(labelled, by)


def _labelled_enough(
    samples: DetectedPrompts, numbers: Mapping[str, float]
) -> list[tuple[DetectedPrompt, np.ndarray]]:
    """Return the prompts with enough labelled images, and people's labels as numbers."""
    pairs = [(sample, labels_of(sample, numbers)) for sample in samples]
    return [pair for pair in pairs if np.sum(~np.isnan(pair[1])) >= LEAST_LABELS]


@dataclass(frozen=True)
class GroupCorrection(ByLabels):
    """The shares of a detector's groups as people's labels correct them."""

    groups: tuple[str, ...]
    """People's labels for clear images; the detector may have fewer groups."""
    words: tuple[np.ndarray, ...]
    """Number of the detector's group of every image, -1 for none, per prompt with enough labels."""
    people: tuple[np.ndarray, ...]
    """Number of people's group of the same images, -1 for not clear; NaN without a label."""
    left_out: int
    level: float
    labelled: LabelledSet
    fillings: tuple[GroupCorrection, ...] = ()
    """Corrections that include the unsettled images, each with one choice among people's labels."""

    @cached_property
    def shares(self) -> CorrectedShares:
        """The corrected share of each group, in order."""
        return corrected_shares(self.words, self.people, len(self.groups), self.level)

    @cached_property
    def counts(self) -> CorrectedGroupCounts:
        """Counts per prompt and group of the images that would give this certainty unlabelled."""
        return corrected_counts(self.words, self.people, len(self.groups))

    @property
    def labels(self) -> int:
        """Number of people's labels of these images."""
        return self.counts.labels

    def tallies(self, samples: DetectedPrompts) -> list[Tally]:
        """Return the corrected counts of the prompts with enough labels."""
        del samples
        return list(map(Tally.even, self.counts.counts))

    @property
    def accuracy(self) -> dict[str, Interval | None]:
        """Share of right labels of the detector on the labelled images, by people's label."""
        groups = {group: float(place) for place, group in enumerate(self.groups)}
        return accuracy_of(self.words, self.people, groups, self.level)

    @property
    def by_detector_alone(self) -> float | None:
        """Mean distance from even shares by the predicted labels, not corrected for few images."""
        even = dict.fromkeys(self.groups, 1.0 / len(self.groups))
        distances = [
            total_variation_distance(
                {g: int(np.sum(word == k)) for k, g in enumerate(self.groups)}, even
            )
            for word in self.words
            if np.any(word >= 0)
        ]
        return sum(distances) / len(distances) if distances else None

    def uncorrected(self, score: object, samples: DetectedPrompts) -> str:
        """Return the plain mean by the predicted labels, in words."""
        del score, samples
        plain = self.by_detector_alone
        return "no label of these groups" if plain is None else f"{plain:.3f}"


def given_group_correction(
    samples: DetectedPrompts, labelled: LabelledSet | None
) -> GroupCorrection | None:
    """Return the correction of groups by --t2i-labels; None for gender labels or too few labels."""
    if labelled is None or labelled.vocabulary.is_gender or not samples.members:
        return None
    if shortage(samples, labelled):
        return None
    groups = labelled.vocabulary.clear
    places = {group: place for place, group in enumerate(groups)}

    def by(settled: LabelledSet) -> GroupCorrection | None:
        numbers = {
            settled.checksums[image.file]: float(places.get(image.label, -1)) for image in settled
        }
        used = _labelled_enough(samples, numbers)
        if not used:
            return None
        words = tuple(
            np.array([places.get(d.label or "", -1) for d in sample.detections])
            for sample, _ in used
        )
        people = tuple(labels for _, labels in used)
        return GroupCorrection(
            groups, words, people, len(samples) - len(used), samples.level, labelled
        )

    return with_fillings(labelled, by)
