"""Counts of groups corrected by people's labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts
from pytest_t2i.audits.peoples_labels import (
    accuracy_of,
    by_annotators,
    labels_of,
    shortage,
    with_fillings,
)
from pytest_t2i.data import Interval
from pytest_t2i.labels import LabelledSet
from pytest_t2i.metrics import total_variation_distance
from pytest_t2i.statistics.correction import (
    LEAST_LABELS,
    CorrectedGroupCounts,
    CorrectedShares,
    corrected_counts,
    corrected_shares,
)

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class GroupCorrection:
    """The shares of a detector's groups as people's labels correct them."""

    groups: tuple[str, ...]
    """People's labels for clear images; the detector may have fewer groups."""
    words: tuple[np.ndarray, ...]
    """Number of the detector's group of every image, -1 for none, per prompt with enough labels."""
    people: tuple[np.ndarray, ...]
    """Number of people's group of the same images, -1 for not clear; NaN without a label."""
    left_out: int
    """Number of prompts with too few labels."""
    level: float
    labelled: LabelledSet
    """The labelled images."""
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
    def accuracy(self) -> dict[str, Interval | None]:
        """Share of right labels of the detector on the labelled images, by people's label."""
        groups = {group: float(place) for place, group in enumerate(self.groups)}
        return accuracy_of(self.words, self.people, groups, self.level)

    @property
    def prompts(self) -> int:
        """Number of prompts with enough labels."""
        return len(self.words)

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

    def describe(self) -> str:
        """Return the correction in words."""
        few = f" ({self.left_out} prompts have fewer than {LEAST_LABELS})" * bool(self.left_out)
        return f"corrected by {self.counts.labels} labels{by_annotators(self.labelled)}{few}"


def given_group_correction(
    samples: DetectedPrompts, labelled: LabelledSet | None
) -> GroupCorrection | None:
    """Return the correction of groups by --t2i-labels; None for gender labels or too few labels."""
    if labelled is None or labelled.vocabulary.is_gender or not samples.members:
        return None
    if shortage(samples, labelled):
        return None
    return with_fillings(labelled, lambda settled: _group_correction(samples, settled, labelled))


def _group_correction(
    samples: DetectedPrompts, settled: LabelledSet, labelled: LabelledSet
) -> GroupCorrection | None:
    """Return None where too few of the run's images, recognised by content, have labels."""
    groups = labelled.vocabulary.clear
    places = {group: place for place, group in enumerate(groups)}
    numbers = {
        settled.checksums[image.file]: float(places.get(image.label, -1)) for image in settled
    }
    labels = [(sample, labels_of(sample, numbers)) for sample in samples]
    used = [pair for pair in labels if np.sum(~np.isnan(pair[1])) >= LEAST_LABELS]
    if not used:
        return None
    return GroupCorrection(
        groups,
        tuple(_words(sample, groups) for sample, _ in used),
        tuple(few for _, few in used),
        len(samples) - len(used),
        samples.level,
        labelled,
    )


def _words(sample: DetectedPrompt, groups: Sequence[str]) -> np.ndarray:
    places = {group: place for place, group in enumerate(groups)}
    return np.array([places.get(detection.label or "", -1) for detection in sample.detections])


def plain_share(share: float) -> float | None:
    """Return a share as a record keeps it: None instead of NaN."""
    return None if math.isnan(share) else share
