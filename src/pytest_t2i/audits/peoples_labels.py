"""What people said of the images of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.data import Interval
from pytest_t2i.labels import LabelledSet


def by_annotators(labelled: LabelledSet | None) -> str:
    """``" of 2 annotators"``; "" where nobody is known."""
    who = 0 if labelled is None else len(labelled.annotators)
    return f" of {who} annotator{'s' * (who != 1)}" if who else ""


def recognised(samples: Iterable[DetectedPrompt], labelled: LabelledSet) -> int:
    """How many of the images are labelled; they are recognised by their content."""
    known = dict.fromkeys(labelled.checksums.values(), 0.0)
    return sum(labelled_images(sample, known) for sample in samples)


def labelled_images(sample: DetectedPrompt, known: Mapping[str, float]) -> int:
    """How many images of a prompt people have labelled, by the checksums of these."""
    return int(np.sum(~np.isnan(labels_of(sample, known))))


def told_accuracy(images: int, accuracy: Mapping[str, Interval | None]) -> str:
    """How well a detector is known, in a few words.

    >>> told_accuracy(200, {"male": Interval(0.96, 0.9, 0.99, 0.95, "", 90), "female": None})
    'measured on 200 labels: male 0.96 [0.90, 0.99], female -'
    """
    each = ", ".join(
        f"{label} {'-' if i is None else f'{i.estimate:.2f} [{i.low:.2f}, {i.high:.2f}]'}"
        for label, i in accuracy.items()
    )
    return f"measured on {images} label{'s' * (images != 1)}: {each}"


def accuracy_of(
    words: Iterable[np.ndarray],
    people: Iterable[np.ndarray],
    groups: Mapping[str, float],
    level: float,
) -> dict[str, Interval | None]:
    """Share of right labels among images of each group that both gave one; None without any.

    ``words`` and ``people`` have the group of every image as a number of ``groups``; NaN where
    nobody labelled it.
    """
    said = np.concatenate([np.zeros(0), *words])
    truth = np.concatenate([np.zeros(0), *people])
    told = np.isin(said, list(groups.values()))
    result: dict[str, Interval | None] = {}
    for name, number in groups.items():
        mine = told & (truth == number)
        right, n = int(np.sum(said[mine] == number)), int(mine.sum())
        result[name] = statistics.share_interval(right, n, level) if n else None
    return result


def labels_of(sample: DetectedPrompt, known: Mapping[str, float]) -> np.ndarray:
    """People's word on each image, by its checksum; NaN where there is none."""
    return np.array([known.get(checksum or "", math.nan) for checksum in sample.checksums])
