"""What records of audits have alike: counts of labels, and the largest samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_t2i.data import Count, Detection, Undetected


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of images per label, and of undetected images per reason."""

    labels: Mapping[str, Count]
    undetected: Mapping[Undetected, Count]


def counts_of(detections: Iterable[Detection]) -> Counts:
    """Count the labels and the reasons of these detections.

    >>> counts_of([Detection("male"), Detection(None, Undetected.NO_FACE)]).labels
    {'male': 1}
    """
    detections = list(detections)
    return Counts(
        dict(Counter(d.label for d in detections if d.label is not None)),
        dict(Counter(d.undetected for d in detections if d.undetected is not None)),
    )


def widest_of(pairs: Iterable[tuple]) -> list[tuple]:  # type: ignore[type-arg]
    """Return every member once, in order of appearance, with the test that asks for most images."""
    widest: dict[str, tuple] = {}  # type: ignore[type-arg]
    for member, test in pairs:
        name = member.text if hasattr(member, "text") else member.id
        candidate = widest.get(name)
        if candidate is None or candidate[1].images < test.images:
            widest[name] = (member, test)
    return list(widest.values())
