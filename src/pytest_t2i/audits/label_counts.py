"""How often what was said of images, as records keep it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_t2i.data import Count, Detection, Undetected


@dataclass(frozen=True, slots=True)
class Counts:
    """How many images got each label, and why others got none."""

    labels: Mapping[str, Count]
    undetected: Mapping[Undetected, Count]


def counts_of(detections: Iterable[Detection]) -> Counts:
    """The counts of these detections.

    >>> counts_of([Detection("male"), Detection(None, Undetected.NO_FACE)]).labels
    {'male': 1}
    """
    detections = list(detections)
    return Counts(
        dict(Counter(d.label for d in detections if d.label is not None)),
        dict(Counter(d.undetected for d in detections if d.undetected is not None)),
    )
