"""Verdicts that depend on labels which people have not settled.

Where people labelled an image differently, any of their labels may be right. A verdict holds only
if it is the same for each of them: the interval covers all cases, and the weakest evidence counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from pytest_t2i.data import Evidence, Interval
from pytest_t2i.labels import LabelledImage, LabelledSet
from pytest_t2i.verdicts.measurement import Measurement

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
    said = {image.file: labelled.said_of(image) for image in labelled.unsettled}
    for label in sorted({label for labels in said.values() for label in labels}):
        chosen = {file: label if label in of else of[0] for file, of in said.items()}
        yield labelled.filled(chosen)
    if guesses is not None:
        guessed = {image.file: guesses(image) for image in labelled.unsettled}
        for is_right in (True, False):
            yield labelled.filled(
                {file: _chosen_label(of, guessed[file], is_right) for file, of in said.items()}
            )


def with_fillings(
    labelled: LabelledSet, correct: Callable[[LabelledSet], Correction | None]
) -> Correction | None:
    """Return the correction by the settled labels, with one correction per filling in ``fillings``.

    ``correct`` returns a dataclass with the field ``fillings``, or None where there are too few
    labels.
    """
    made = correct(labelled.settled)
    if made is None:
        return None
    filled = (correct(of) for of in fillings(labelled))
    known = tuple(one for one in filled if one is not None)
    return replace(made, fillings=known)  # type: ignore[type-var]


def _chosen_label(said: Sequence[str], guess: str | None, is_right: bool) -> str:
    """Return a label that equals the guess, or one that does not; else the first label."""
    return next((label for label in said if (label == guess) is is_right), said[0])


def covering_unsettled(
    made: Measurement, others: Sequence[Measurement], labelled: LabelledSet
) -> Measurement:
    """Return a measurement whose interval and evidence hold whichever labels are right.

    Args:
        made: the measurement without the unsettled images.
        others: measurements with the unsettled images, one per way of filling them in.
        labelled: the labelled images.
    """
    if not others:
        return made
    count = len(labelled.unsettled)
    told = "1 label is unsettled" if count == 1 else f"{count} labels are unsettled"
    remark = (
        f"{told}, and the interval covers whichever is right; settle them: "
        f"t2i label {labelled.folder} --review"
    )
    known = [one.interval for one in (made, *others) if one.interval is not None]
    return replace(
        made,
        interval=_covering_interval(made.interval, known),
        evidence=None if made.evidence is None else _weakest_evidence([made, *others]),
        remarks=(remark, *made.remarks),
    )


def _covering_interval(own: Interval | None, known: Sequence[Interval]) -> Interval | None:
    if own is None:
        return None
    low, high = min(one.low for one in known), max(one.high for one in known)
    return replace(own, low=low, high=high, method=f"{own.method}, any of the unsettled labels")


def _weakest_evidence(measured: Sequence[Measurement]) -> Callable[[float, float], Evidence]:
    """Return the weakest evidence of all on each side; p-values of 1 where one has no evidence."""

    def evidence(bound: float, level: float) -> Evidence:
        each = [
            Evidence(1.0, 1.0) if one.evidence is None else one.evidence(bound, level)
            for one in measured
        ]
        return Evidence(
            _largest_p_value([one.beyond for one in each]),
            _largest_p_value([one.within for one in each]),
        )

    return evidence


def _largest_p_value(p_values: Sequence[float | None]) -> float:
    """Return the largest p-value; an unknown one counts as 1."""
    return max(1.0 if one is None else one for one in p_values)
