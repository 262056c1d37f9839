"""People's labels on the images of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.engine.detected import DetectedPrompt
from pytest_t2i.data import Interval
from pytest_t2i.errors import some
from pytest_t2i.labels import LabelledSet
from pytest_t2i.sections.words import of_annotators
from pytest_t2i.statistics.correction import (
    LEAST_LABELS,
    NO_RANDOM_PART,
    random_part_p_value,
    signs_of,
)

MOST_LEFT_OUT = 0.1
"""Largest share of prompts with too few labels for a corrected verdict on the model."""


def by_annotators(labelled: LabelledSet | None) -> str:
    """Return ``" of 2 annotators"`` in the number of the set; "" where no annotator is known."""
    return "" if labelled is None else of_annotators(len(labelled.annotators))


def recognised(samples: Iterable[DetectedPrompt], labelled: LabelledSet) -> int:
    """Count the images that are labelled; they are recognised by their content."""
    labels = dict.fromkeys(labelled.checksums.values(), 0.0)
    return sum(labelled_images(sample, labels) for sample in samples)


def labelled_images(sample: DetectedPrompt, known: Mapping[str, float]) -> int:
    return int(np.sum(~np.isnan(labels_of(sample, known))))


def unsettled_words(labelled: LabelledSet, what: str) -> str:
    """Return the pictures whose label is unsettled, and what happens until then; "" without any."""
    files = [image.file for image in labelled.unsettled]
    if not files:
        return ""
    are = "1 label is unsettled" if len(files) == 1 else f"{len(files)} labels are unsettled"
    return f"{are} ({some(files)}): {what}, until t2i label page {labelled.folder} --review"


CORRECT_NOTHING = "people's labels correct nothing"


def why_no_verdict(samples: Iterable[DetectedPrompt], labelled: LabelledSet | None) -> str:
    """Return why people's labels give no verdict on the model, in words; "" where they may.

    It is "" too where no label is of these images.
    """
    samples = list(samples)
    if labelled is None or not labelled.vocabulary.is_gender or not recognised(samples, labelled):
        return ""
    if words := unsettled_words(labelled, CORRECT_NOTHING):
        return words
    numbers = dict.fromkeys(labelled.checksums.values(), 0.0)
    counts = [labelled_images(sample, numbers) for sample in samples]
    few = sum(labels < LEAST_LABELS for labels in counts)
    if few <= MOST_LEFT_OUT * len(counts):
        return why_no_random_part(samples, numbers)
    return (
        f"{few} of {len(counts)} prompts have fewer than the {LEAST_LABELS} labels that their "
        f"correction needs (the fewest have {min(counts)}, the most {max(counts)}): label more "
        "(`t2i label export`, `t2i label page`), or run without --t2i-labels"
    )


def why_no_random_part(samples: Iterable[DetectedPrompt], known: Mapping[str, float]) -> str:
    """Return why labels correct nothing: the labelled images are no random part; "" where they are.

    ``known`` has the checksum of each labelled image.
    """
    strata = [
        signs_of(sample.signs, labels_of(sample, known), number)
        for number, sample in enumerate(samples)
        if labelled_images(sample, known) >= LEAST_LABELS
    ]
    if not strata or random_part_p_value(strata) >= NO_RANDOM_PART:
        return ""
    labelled = np.concatenate([stratum.predicted[stratum.has_label] for stratum in strata])
    every = np.concatenate([stratum.predicted for stratum in strata])
    shares = ", ".join(
        f"{word} {np.mean(labelled == sign):.0%} of them and {np.mean(every == sign):.0%} of all"
        for word, sign in (("male", 1.0), ("female", -1.0), ("undetected", 0.0))
    )
    return (
        f"the labelled images are no random part of all by what the detector says ({shares}), so "
        "that their labels correct nothing: draw images at random (`t2i label export`)"
    )


def why_not_corrected(sample: DetectedPrompt, labelled: LabelledSet | None) -> str:
    """Return why a prompt's labels do not correct its counts; "" without any label of it."""
    if labelled is None or not labelled.vocabulary.is_gender:
        return ""
    have = recognised([sample], labelled)
    if have and (words := unsettled_words(labelled, CORRECT_NOTHING)):
        return words
    if have >= LEAST_LABELS:
        return why_no_random_part([sample], dict.fromkeys(labelled.checksums.values(), 0.0))
    if not have:
        return ""
    return (
        f"not corrected: {have} of its images {'has' if have == 1 else 'have'} people's labels, "
        f"and the correction needs {LEAST_LABELS}"
    )


def distinct_labels(samples: Iterable[DetectedPrompt], known: Mapping[str, float]) -> int:
    """Count the labels behind a correction: a picture that occurs twice was labelled once."""
    return len({name for sample in samples for name in sample.checksums if name in known})


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
    predictions = np.concatenate([np.zeros(0), *words])
    truth = np.concatenate([np.zeros(0), *people])
    mask = np.isin(predictions, list(groups.values()))
    result: dict[str, Interval | None] = {}
    for name, number in groups.items():
        mine = mask & (truth == number)
        right, n = int(np.sum(predictions[mine] == number)), int(mine.sum())
        result[name] = statistics.share_interval(right, n, level) if n else None
    return result


def labels_of(sample: DetectedPrompt, known: Mapping[str, float]) -> np.ndarray:
    """Return people's label of each image as a number, by its checksum; NaN where there is none."""
    return np.array([known.get(checksum or "", math.nan) for checksum in sample.checksums])
