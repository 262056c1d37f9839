"""Shares of groups corrected by people's labels on a random part of a run's own images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.peoples_labels import labels_of
from pytest_t2i.audits.samples import Sample, Samples
from pytest_t2i.labels import LabelledSet
from pytest_t2i.statistics import CorrectedShares
from pytest_t2i.statistics.correction.strata import LEAST_LABELS


@dataclass(frozen=True)
class GroupCorrection:
    """What labels say of a detector's groups on the run's prompts."""

    groups: tuple[str, ...]
    """What people could say and counts; the detector's may be fewer."""
    shares: CorrectedShares
    """In the order of the groups."""
    prompts: int
    left_out: int
    """Prompts with too few labels."""


def given_group_correction(
    samples: Samples, labelled: LabelledSet | None
) -> GroupCorrection | None:
    """The same of a detector's groups, where the labels are others than male and female."""
    if labelled is None or labelled.vocabulary.is_gender or not samples.members:
        return None
    return correct_groups(samples, labelled)


def correct_groups(samples: Samples, labelled: LabelledSet) -> GroupCorrection | None:
    """The correction that a labelled set allows; None when it has too few of the run's images.

    Images are recognised by their content, whatever their file is called.
    """
    groups = labelled.vocabulary.clear
    places = {group: place for place, group in enumerate(groups)}
    known = {
        labelled.checksums[image.file]: float(places.get(image.label, -1))
        for image in labelled.settled
    }
    labels = [(sample, labels_of(sample, known)) for sample in samples]
    used = [pair for pair in labels if np.sum(~np.isnan(pair[1])) >= LEAST_LABELS]
    if not used:
        return None
    words = [_words(sample, groups) for sample, _ in used]
    shares = statistics.corrected_shares(
        words, [few for _, few in used], len(groups), samples.level
    )
    return GroupCorrection(groups, shares, len(used), len(samples) - len(used))


def _words(sample: Sample, groups: Sequence[str]) -> np.ndarray:
    places = {group: place for place, group in enumerate(groups)}
    return np.array([places.get(detection.label or "", -1) for detection in sample.detections])
