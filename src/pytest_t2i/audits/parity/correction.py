"""Counts corrected by people's labels: of genders, of groups, and by drawn images."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.build_samples import plain_sample
from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.detected import (
    FEMALE,
    MALE,
    CorrectedCounts,
    DetectedPrompt,
    DetectedPrompts,
)
from pytest_t2i.audits.distance import EVEN
from pytest_t2i.audits.evidence import by_ends
from pytest_t2i.audits.log_odds import log_odds
from pytest_t2i.audits.peoples_labels import (
    accuracy_of,
    distinct_labels,
    labelled_images,
    labels_of,
    needs_more,
    shortage,
    with_fillings,
)
from pytest_t2i.audits.samples import Sample, Samples
from pytest_t2i.audits.score import ByLabels, Tally
from pytest_t2i.audits.shared_blocks import widest_of
from pytest_t2i.data import Evidence, Interval, Prompt, sign_of
from pytest_t2i.labels import Draw, LabelledSet
from pytest_t2i.metrics import model_bias_score
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
        )

    def evidence(self, bound: float, level: float) -> Evidence:
        """Return evidence from the interval's ends."""
        return by_ends(self.interval)(bound, level)

    def of_model(self, score: Any) -> WeightedCorrection:
        """Return this correction: it judges the model itself."""
        del score
        return self

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


@dataclass(frozen=True)
class _OfPrompts(ByLabels):
    """A run's prompts as people's labels of some of their images correct them."""

    samples: tuple[DetectedPrompt, ...]
    """The prompts with enough labelled images."""
    left_out: int
    """Number of prompts with too few labels."""
    known: Mapping[str, float]
    """Checksum of an image -> number of people's label of it."""
    numbers: Mapping[str, float]
    """Label of a clear image -> its number."""
    level: float
    labelled: LabelledSet
    fillings: tuple[Self, ...] = ()
    """Corrections that include the unsettled images, each with one choice among people's labels."""
    unclear: ClassVar[float] = 0.0
    """Number of any other label."""

    @cached_property
    def words(self) -> list[np.ndarray]:
        """Number of the detector's label of every image, per prompt."""
        return [
            np.array([self.numbers.get(d.label or "", self.unclear) for d in sample.detections])
            for sample in self.samples
        ]

    @cached_property
    def people(self) -> list[np.ndarray]:
        """Number of people's label of the same images; NaN without a label."""
        return [labels_of(sample, self.known) for sample in self.samples]

    @property
    def accuracy(self) -> dict[str, Interval | None]:
        """Share of right labels of the detector on the labelled images, by people's label."""
        return accuracy_of(self.words, self.people, self.numbers, self.level)

    @property
    def labels(self) -> int:
        """Number of people's labels of these images."""
        return distinct_labels(self.samples, self.known)


GENDER = {MALE: 1.0, FEMALE: -1.0}


class Correction(_OfPrompts):
    """The run's prompt bias scores as people's labels correct them."""

    @cached_property
    def scores(self) -> CorrectedScores:
        """Prediction-powered estimates of people's scores over all images (PPI++)."""
        return statistics.corrected_scores(self.words, self.people, self.level)

    def counts(self, prompt: Prompt) -> tuple[int, int] | None:
        """Return (male, female) of as many images as would give the same certainty unlabelled."""
        if prompt not in self._places:
            return None
        place = self._places[prompt]
        return self.scores.effective_male[place], self.scores.effective_female[place]

    def seeds_of(self, prompt: Prompt) -> tuple[int, ...]:
        """Return the seeds of the images behind a prompt's counts; () with too few labels."""
        place = self._places.get(prompt)
        return () if place is None else self.samples[place].seeds

    def labels_of_prompt(self, prompt: Prompt) -> dict[str, int]:
        """Return people's labels of one prompt's images, with the number of labelled images."""
        sample = self.samples[self._places[prompt]]
        labelled = {name for name in sample.checksums if name is not None and name in self.known}
        counts = Counter(self.known[name] for name in labelled)
        words = {**GENDER, "not clear": self.unclear}
        return {word: counts[number] for word, number in words.items() if counts[number]}

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


class GroupCorrection(_OfPrompts):
    """The shares of a detector's groups as people's labels correct them."""

    unclear = -1.0

    @cached_property
    def shares(self) -> CorrectedShares:
        """The corrected share of each group, in order."""
        return corrected_shares(self.words, self.people, len(self.numbers), self.level)

    @cached_property
    def counts(self) -> CorrectedGroupCounts:
        """Counts per prompt and group of the images that would give this certainty unlabelled."""
        return corrected_counts(self.words, self.people, len(self.numbers))

    def tallies(self, samples: DetectedPrompts) -> list[Tally]:
        """Return the corrected counts of the prompts with enough labels."""
        del samples
        return list(map(Tally.even, self.counts.counts))

    @property
    def by_detector_alone(self) -> float | None:
        """Mean distance from even shares by the predicted labels, not corrected for few images."""
        counts = [[np.sum(word == k) for k in self.numbers.values()] for word in self.words]
        tallies = [Tally.even(row) for row in counts if any(row)]
        return EVEN.plain_mean(tallies) if tallies else None

    def uncorrected(self, score: object, samples: DetectedPrompts) -> str:
        """Return the plain mean by the predicted labels, in words."""
        del score, samples
        plain = self.by_detector_alone
        return "no label of these groups" if plain is None else f"{plain:.3f}"


def given_correction(
    samples: DetectedPrompts, labelled: LabelledSet | None
) -> Correction | WeightedCorrection | None:
    """Return the model's correction by --t2i-labels; None without enough labels of these images."""
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
        correction = _of_prompts(Correction, samples, settled, labelled, GENDER)
        has_labels = correction is not None and any(map(np.any, correction.words))
        return correction if has_labels else None

    return with_fillings(labelled, by)


def given_group_correction(
    samples: DetectedPrompts, labelled: LabelledSet | None
) -> GroupCorrection | None:
    """Return the correction of groups by --t2i-labels; None for gender labels or too few labels."""
    if labelled is None or labelled.vocabulary.is_gender or not samples.members:
        return None
    if shortage(samples, labelled):
        return None
    numbers = {group: float(place) for place, group in enumerate(labelled.vocabulary.clear)}
    return with_fillings(
        labelled,
        lambda settled: _of_prompts(GroupCorrection, samples, settled, labelled, numbers),
    )


OfPrompts = TypeVar("OfPrompts", bound=_OfPrompts)


def _of_prompts(
    kind: type[OfPrompts],
    samples: DetectedPrompts,
    settled: LabelledSet,
    labelled: LabelledSet,
    numbers: Mapping[str, float],
) -> OfPrompts | None:
    """Return a correction of the prompts with enough labels; None without any."""
    known = {
        settled.checksums[image.file]: numbers.get(image.label, kind.unclear) for image in settled
    }
    used = tuple(sample for sample in samples if labelled_images(sample, known) >= LEAST_LABELS)
    if not used:
        return None
    return kind(used, len(samples) - len(used), known, numbers, samples.level, labelled)


def corrected_samples(context: AuditContext, samples: Samples) -> Samples:
    """Return the samples of a test with the corrections by people's labels."""
    labelled = context.given_labels
    return replace(
        samples,
        corrected=given_correction(samples, labelled),
        corrected_groups=given_group_correction(samples, labelled),
        few_labels=shortage(samples, labelled),
    )


def corrected_sample(context: AuditContext, sample: Sample) -> Sample:
    """Return a sample with its counts corrected; or with the reason why they are not."""
    correction = _prompts_correction(context)
    if correction is not None and sample.seeds == correction.seeds_of(sample.prompt):
        return replace(sample, corrected=correction.of_prompt(sample.prompt))
    return replace(sample, few_labels=needs_more(sample, context.given_labels))


def _prompts_correction(context: AuditContext) -> Correction | None:
    """Return the correction by labels of all prompts; None without them or with early stopping."""
    labelled = context.given_labels
    if labelled is None or labelled.draw.probabilities or context.settings.sequential:
        return None
    if not labelled.vocabulary.is_gender:
        return None

    def corrected() -> Correction | None:
        pairs = widest_of((p, test) for test in context.tests for p in test.selection.prompts)
        members = tuple(plain_sample(context, prompt, test) for prompt, test in pairs)
        settings = context.settings
        samples = Samples(members, settings.confidence, settings.seed)
        return correct(samples, labelled)

    return context.once(("correction of prompts",), corrected)
