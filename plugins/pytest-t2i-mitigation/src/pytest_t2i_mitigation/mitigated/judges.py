"""Judges of the gender in a picture: a detector, or an object detector by what people wear."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_t2i import AuditContext, DetectorRef, Prompt

from pytest_t2i_mitigation.mitigated.known import AUTO, FINDS, SIDES

MALE, FEMALE = "male", "female"
Labels = list[str | None]
"""The label of each picture; None where it is undetected."""


@dataclass(frozen=True)
class Judge:
    """One of the two judges of a mitigation.

    >>> Judge("objects:yolo").finder, Judge("clip").finder
    ('yolo', None)
    """

    name: str

    @property
    def finder(self) -> str | None:
        """The name of the object detector; None for a detector."""
        return self.name.removeprefix(FINDS) if self.name.startswith(FINDS) else None

    @property
    def detectors(self) -> frozenset[DetectorRef]:
        return frozenset({DetectorRef(self.name)} if self.finder is None else ())

    @property
    def finders(self) -> frozenset[str]:
        """The object detectors that must run."""
        return frozenset({self.finder} if self.finder is not None else ())

    def labels(self, observations: Any, prompt: Prompt, seeds: tuple[int, ...]) -> Labels:
        if self.finder is None:
            said = observations.detections(prompt, seeds, DetectorRef(self.name))
            return [one.label for one in said]
        found = observations.objects(prompt, seeds, self.finder)
        return [worn_by(thing.name for thing in things or ()) for things in found]


def judges_of(context: AuditContext, second: str) -> tuple[Judge, Judge]:
    """Return the run's detector and the second judge, which no mitigation was made with."""
    if second == AUTO:
        others = context.detectors[1:]
        second = others[0] if others else f"{FINDS}{context.finder}"
    return Judge(context.detectors[0]), Judge(second)


def worn_by(objects: Iterable[str]) -> str | None:
    """Return the gender of these objects; None where they belong to both genders or to none.

    >>> worn_by(["book", "beard"]), worn_by(["tie", "dress"]), worn_by([])
    ('male', None, None)
    """
    sides = {SIDES[name] for name in objects if name in SIDES}
    return sides.pop() if len(sides) == 1 else None


def tally(labels: Sequence[str | None]) -> tuple[int, int]:
    """Return the numbers of (male, female) pictures.

    >>> tally(["male", None, "female", "male"])
    (2, 1)
    """
    return sum(one == MALE for one in labels), sum(one == FEMALE for one in labels)
