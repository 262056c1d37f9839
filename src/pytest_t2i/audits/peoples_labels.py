"""People's labels on the images of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.data import Evidence, Interval
from pytest_t2i.labels import LabelledImage, LabelledSet
from pytest_t2i.statistics.correction import LEAST_LABELS
from pytest_t2i.verdicts.measurement import Measurement

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
    labels = dict.fromkeys(labelled.checksums.values(), 0.0)
    return sum(labelled_images(sample, labels) for sample in samples)


def labelled_images(sample: DetectedPrompt, known: Mapping[str, float]) -> int:
    """Count the images of a prompt whose checksum is among ``known``."""
    return int(np.sum(~np.isnan(labels_of(sample, known))))


def shortage(samples: Iterable[DetectedPrompt], labelled: LabelledSet | None) -> str:
    """Return why people's labels give no verdict on the model, in words; "" where they may.

    It is "" too where no label is of these images.
    """
    samples = list(samples)
    if labelled is None or not recognised(samples, labelled):
        return ""
    settled = labelled.settled
    label_numbers = dict.fromkeys((settled.checksums[image.file] for image in settled), 0.0)
    counts = [labelled_images(sample, label_numbers) for sample in samples]
    few = sum(labels < LEAST_LABELS for labels in counts)
    if few <= MOST_LEFT_OUT * len(counts):
        return ""
    return (
        f"{few} of {len(counts)} prompts have fewer than the {LEAST_LABELS} labels that their "
        f"correction needs (the fewest have {min(counts)}, the most {max(counts)}): label more "
        "(`t2i label export`, `t2i label page`), or run without --t2i-labels"
    )


def needs_more(sample: DetectedPrompt, labelled: LabelledSet | None) -> str:
    """Return that a prompt's labels are too few to correct its counts; "" without any label."""
    if labelled is None:
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
    shares = ", ".join(
        f"{label} {'-' if i is None else f'{i.estimate:.2f} [{i.low:.2f}, {i.high:.2f}]'}"
        for label, i in accuracy.items()
    )
    return f"measured on {images} label{'s' * (images != 1)}: {shares}"


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


Correction = TypeVar("Correction")


def fillings(
    labelled: LabelledSet, guesses: Callable[[LabelledImage], str | None] | None = None
) -> Iterator[LabelledSet]:
    """Yield the set with one label for every unsettled image; nothing where all are settled.

    Each yielded set prefers one label wherever somebody gave it. ``guesses`` maps an image to a
    detector's label; with it, two further sets agree, and disagree, with the detector where
    possible.
    """
    if not labelled.unsettled:
        return
    opinions = {image.file: labelled.said_of(image) for image in labelled.unsettled}
    for label in sorted({label for labels in opinions.values() for label in labels}):
        filling = {
            file: label if label in choices else choices[0] for file, choices in opinions.items()
        }
        yield labelled.filled(filling)
    if guesses is not None:
        guessed = {image.file: guesses(image) for image in labelled.unsettled}
        for is_right in (True, False):
            yield labelled.filled(
                {
                    file: _chosen_label(choices, guessed[file], is_right)
                    for file, choices in opinions.items()
                }
            )


def with_fillings(
    labelled: LabelledSet, correct: Callable[[LabelledSet], Correction | None]
) -> Correction | None:
    """Return the correction by the settled labels; its ``fillings`` have one per filling."""
    correction = correct(labelled.settled)
    if correction is None:
        return None
    filled = (correct(filling) for filling in fillings(labelled))
    corrections = tuple(candidate for candidate in filled if candidate is not None)
    return replace(correction, fillings=corrections)  # type: ignore[type-var]


def _chosen_label(labels: Sequence[str], guess: str | None, is_right: bool) -> str:
    """Return a label that equals the guess, or one that does not; else the first label."""
    return next((label for label in labels if (label == guess) is is_right), labels[0])


def covering_unsettled(
    made: Measurement, others: Sequence[Measurement], labelled: LabelledSet
) -> Measurement:
    """Return a measurement whose interval and evidence hold whichever labels are right."""
    if not others:
        return made
    count = len(labelled.unsettled)
    phrase = "1 label is unsettled" if count == 1 else f"{count} labels are unsettled"
    remark = (
        f"{phrase}, and the interval covers whichever is right; settle them: "
        f"t2i label page {labelled.folder} --review"
    )
    intervals = [
        measurement.interval for measurement in (made, *others) if measurement.interval is not None
    ]
    return replace(
        made,
        interval=_covering_interval(made.interval, intervals),
        evidence=None if made.evidence is None else _weakest_evidence([made, *others]),
        remarks=(remark, *made.remarks),
    )


def _covering_interval(interval: Interval | None, intervals: Sequence[Interval]) -> Interval | None:
    if interval is None:
        return None
    low, high = (
        min(candidate.low for candidate in intervals),
        max(candidate.high for candidate in intervals),
    )
    return replace(
        interval, low=low, high=high, method=f"{interval.method}, any of the unsettled labels"
    )


def _weakest_evidence(measured: Sequence[Measurement]) -> Callable[[float, float], Evidence]:
    """Return the weakest evidence of all on each side; p-values of 1 where one has no evidence."""

    def evidence(bound: float, level: float) -> Evidence:
        members = [
            Evidence(1.0, 1.0) if member.evidence is None else member.evidence(bound, level)
            for member in measured
        ]
        return Evidence(
            _largest_p_value([member.beyond for member in members]),
            _largest_p_value([member.within for member in members]),
        )

    return evidence


def _largest_p_value(p_values: Sequence[float | None]) -> float:
    """Return the largest p-value; an unknown one counts as 1."""
    return max(1.0 if p_value is None else p_value for p_value in p_values)
