"""Verdicts that hang on labels which people have not settled.

Of an image that people labelled differently, any of their labels may be the right one. A verdict
holds only if it is the same whichever is: the interval covers them all, and evidence is the least.
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
    """The set with every unsettled image given one of its labels; none where all are settled.

    Each label that anybody gave is given wherever somebody gave it. With ``guesses``, what an
    image is guessed to be (by a detector), all are right in one of them and all wrong in another.
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
                {file: _as(of, guessed[file], is_right) for file, of in said.items()}
            )


def with_fillings(
    labelled: LabelledSet, correct: Callable[[LabelledSet], Correction | None]
) -> Correction | None:
    """What the settled labels correct, with what they all do, settled one way each.

    ``correct`` gives a dataclass that has ``fillings``; None where labels are too few.
    """
    made = correct(labelled.settled)
    if made is None:
        return None
    filled = (correct(of) for of in fillings(labelled))
    known = tuple(one for one in filled if one is not None)
    return replace(made, fillings=known)  # type: ignore[type-var]


def _as(said: Sequence[str], guess: str | None, is_right: bool) -> str:
    """A label that is the guess or is not, if there is one."""
    return next((label for label in said if (label == guess) is is_right), said[0])


def held(made: Measurement, others: Sequence[Measurement], labelled: LabelledSet) -> Measurement:
    """A measurement whose interval and evidence hold whichever labels are the right ones.

    Args:
        made: without the unsettled images.
        others: with them, filled in one way each.
        labelled: whose labels they are.
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
        interval=_around(made.interval, known),
        evidence=None if made.evidence is None else _least([made, *others]),
        remarks=(remark, *made.remarks),
    )


def _around(own: Interval | None, known: Sequence[Interval]) -> Interval | None:
    if own is None:
        return None
    low, high = min(one.low for one in known), max(one.high for one in known)
    return replace(own, low=low, high=high, method=f"{own.method}, any of the unsettled labels")


def _least(measured: Sequence[Measurement]) -> Callable[[float, float], Evidence]:
    """The weaker evidence of all, on either side; none where one has none."""

    def evidence(bound: float, level: float) -> Evidence:
        each = [
            Evidence(1.0, 1.0) if one.evidence is None else one.evidence(bound, level)
            for one in measured
        ]
        return Evidence(
            _largest([one.beyond for one in each]), _largest([one.within for one in each])
        )

    return evidence


def _largest(p_values: Sequence[float | None]) -> float:
    """The largest p-value; 1 where one is not known."""
    return max(1.0 if one is None else one for one in p_values)
