"""What people said of the images of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.labels import LabelledSet


def recognised(samples: Iterable[DetectedPrompt], labelled: LabelledSet) -> int:
    """How many of the images are labelled; they are recognised by their content."""
    known = dict.fromkeys(labelled.checksums.values(), 0.0)
    return sum(labelled_images(sample, known) for sample in samples)


def labelled_images(sample: DetectedPrompt, known: Mapping[str, float]) -> int:
    """How many images of a prompt people have labelled, by the checksums of these."""
    return int(np.sum(~np.isnan(labels_of(sample, known))))


def labels_of(sample: DetectedPrompt, known: Mapping[str, float]) -> np.ndarray:
    """People's word on each image, by its checksum; NaN where there is none."""
    return np.array([known.get(checksum or "", math.nan) for checksum in sample.checksums])
