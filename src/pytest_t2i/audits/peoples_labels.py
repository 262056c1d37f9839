"""People's labels on the images of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.data import Interval
from pytest_t2i.labels import LabelledSet
from pytest_t2i.statistics.correction import LEAST_LABELS

MOST_LEFT_OUT = 0.1
"""Largest share of prompts with too few labels for a corrected verdict on the model."""


def by_annotators(labelled: LabelledSet | None) -> str:
    """Return ``" of 2 annotators"`` in the number of the set; "" where no annotator is known."""
    return "" if labelled is None else of_annotators(len(labelled.annotators))


def of_annotators(count: int | None) -> str:
    """Return a number of annotators as the end of a phrase; "" where none is known.

    >>> of_annotators(2), of_annotators(1), of_annotators(None)
    (' of 2 annotators', ' of 1 annotator', '')
    """
    return f" of {count} annotator{'s' * (count != 1)}" if count else ""


def recognised(samples: Iterable[DetectedPrompt], labelled: LabelledSet) -> int:
    """Count the images that are labelled; they are recognised by their content."""
    known = dict.fromkeys(labelled.checksums.values(), 0.0)
    return sum(labelled_images(sample, known) for sample in samples)


def labelled_images(sample: DetectedPrompt, known: Mapping[str, float]) -> int:
    """Count the images of a prompt whose checksum is among ``known``."""
    return int(np.sum(~np.isnan(labels_of(sample, known))))


def shortage(samples: Iterable[DetectedPrompt], labelled: LabelledSet | None) -> str:
    """Return why people's labels give no verdict on the model, in words; "" where they may.

    It is "" too where no label is of these images, and where images were drawn with known
    probabilities, which correct the mean over prompts.
    """
    samples = list(samples)
    if labelled is None or labelled.draw.probabilities or not recognised(samples, labelled):
        return ""
    settled = labelled.settled
    known = dict.fromkeys((settled.checksums[image.file] for image in settled), 0.0)
    each = [labelled_images(sample, known) for sample in samples]
    few = sum(labels < LEAST_LABELS for labels in each)
    if few <= MOST_LEFT_OUT * len(each):
        return ""
    return (
        f"{few} of {len(each)} prompts have fewer than the {LEAST_LABELS} labels that their "
        f"correction needs (the fewest have {min(each)}, the most {max(each)}): label more "
        "(`t2i sample`, `t2i label`), or run without --t2i-labels"
    )


def needs_more(sample: DetectedPrompt, labelled: LabelledSet | None) -> str:
    """Return that a prompt's labels are too few to correct its counts; "" without any label."""
    if labelled is None or labelled.draw.probabilities:
        return ""
    have = recognised([sample], labelled)
    if not 0 < have < LEAST_LABELS:
        return ""
    return (
        f"not corrected: {have} of its images {'has' if have == 1 else 'have'} people's labels, "
        f"and the correction needs {LEAST_LABELS}"
    )


def distinct_labels(samples: Iterable[DetectedPrompt], known: Mapping[str, float]) -> int:
    """Count the labels behind a correction: a picture that occurs twice was labelled once."""
    return len({name for sample in samples for name in sample.checksums if name in known})


def told_accuracy(images: int, accuracy: Mapping[str, Interval | None]) -> str:
    """Return a detector's measured accuracy in words.

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
    """Return each group's share of right labels, among images labelled by both; None without any.

    ``words`` (the detector's labels) and ``people`` hold each image's group, as a number of
    ``groups``; NaN stands for no label.
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
    """Return people's label of each image as a number, by its checksum; NaN where there is none."""
    return np.array([known.get(checksum or "", math.nan) for checksum in sample.checksums])
