"""Groups corrected by people's labels on a random part of a run's own images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts
from pytest_t2i.audits.peoples_labels import accuracy_of, labels_of
from pytest_t2i.audits.unsettled_labels import with_fillings
from pytest_t2i.data import Interval
from pytest_t2i.labels import LabelledSet
from pytest_t2i.metrics import total_variation_distance
from pytest_t2i.statistics import CorrectedShares
from pytest_t2i.statistics.correction.shares import CorrectedCounts, corrected_counts
from pytest_t2i.statistics.correction.strata import LEAST_LABELS


@dataclass(frozen=True)
class GroupCorrection:
    """What labels say of a detector's groups on the run's prompts."""

    groups: tuple[str, ...]
    """What people could say and counts; the detector's may be fewer."""
    words: tuple[np.ndarray, ...]
    """The detector's group of every image, -1 for none, per prompt with enough labels."""
    people: tuple[np.ndarray, ...]
    """People's of the same images; NaN where there is no label."""
    left_out: int
    """Prompts with too few labels."""
    level: float
    labelled: LabelledSet
    """Whose labels they are."""
    fillings: tuple[GroupCorrection, ...] = ()
    """The same with images that people labelled differently, given one of the labels in each."""

    @cached_property
    def shares(self) -> CorrectedShares:
        """Corrected share of each group, in order."""
        return statistics.corrected_shares(self.words, self.people, len(self.groups), self.level)

    @cached_property
    def counts(self) -> CorrectedCounts:
        """Images per prompt and group, of as many as would be as sure without labels."""
        return corrected_counts(self.words, self.people, len(self.groups))

    @property
    def accuracy(self) -> dict[str, Interval | None]:
        """How often the detector's label is right on the labelled images, by people's label."""
        groups = {group: float(place) for place, group in enumerate(self.groups)}
        return accuracy_of(self.words, self.people, groups, self.level)

    @property
    def prompts(self) -> int:
        """With enough labels."""
        return len(self.words)

    @property
    def by_detector_alone(self) -> float | None:
        """Mean distance from even shares by the predicted labels, not corrected for few images."""
        even = dict.fromkeys(self.groups, 1.0 / len(self.groups))
        known = [
            total_variation_distance(
                {g: int(np.sum(word == k)) for k, g in enumerate(self.groups)}, even
            )
            for word in self.words
            if np.any(word >= 0)
        ]
        return sum(known) / len(known) if known else None

    def describe(self) -> str:
        """In words."""
        few = f" ({self.left_out} prompts have fewer than {LEAST_LABELS})" * bool(self.left_out)
        who = len(self.labelled.annotators)
        by = f"{who} annotator{'s' * (who != 1)}"
        return f"corrected by {self.counts.labels} labels of {by}{few}"


def given_group_correction(
    samples: DetectedPrompts, labelled: LabelledSet | None
) -> GroupCorrection | None:
    """The same of a detector's groups, where the labels are others than male and female."""
    if labelled is None or labelled.vocabulary.is_gender or not samples.members:
        return None
    return with_fillings(labelled, lambda settled: _correction(samples, settled, labelled))


def _correction(
    samples: DetectedPrompts, settled: LabelledSet, whole: LabelledSet
) -> GroupCorrection | None:
    """None when it has too few of the run's images, which are recognised by their content."""
    groups = whole.vocabulary.clear
    places = {group: place for place, group in enumerate(groups)}
    known = {settled.checksums[image.file]: float(places.get(image.label, -1)) for image in settled}
    labels = [(sample, labels_of(sample, known)) for sample in samples]
    used = [pair for pair in labels if np.sum(~np.isnan(pair[1])) >= LEAST_LABELS]
    if not used:
        return None
    return GroupCorrection(
        groups,
        tuple(_words(sample, groups) for sample, _ in used),
        tuple(few for _, few in used),
        len(samples) - len(used),
        samples.level,
        whole,
    )


def _words(sample: DetectedPrompt, groups: Sequence[str]) -> np.ndarray:
    places = {group: place for place, group in enumerate(groups)}
    return np.array([places.get(detection.label or "", -1) for detection in sample.detections])


def plain_share(share: float) -> float | None:
    """As a record keeps it: None for one that there is not."""
    return None if math.isnan(share) else share
