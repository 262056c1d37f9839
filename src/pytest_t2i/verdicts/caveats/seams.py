"""The seams at which something qualifies a verdict, the same for limits and baselines.

A caveat is an object with one or several of these methods. ``void`` is asked before the evidence,
and leaves no estimate. ``reading`` counts images in another way, in which the evidence must hold.
``level`` says which error a comparison may spend. ``remark`` is asked after the verdict: it says
something, and never changes an outcome. All are pure functions of the comparison and of what the
run knows, and may be asked outside of a test, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from pytest_t2i.data import Evidence, Verdict
from pytest_t2i.statistics.shares import Beyond
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.measurement import Against, Measurement

C = TypeVar("C", bound="Counted")
K = TypeVar("K")
SIDES: tuple[Beyond, Beyond] = ("beyond", "within")
PValues = Sequence[float | None]
"""A p-value of each member of a family; None for one without an image that counts."""


class LevelPart(NamedTuple):
    """What one comparison may spend of an error that several comparisons share."""

    level: float
    """Level at which it fails; 1.0: it cannot fail."""
    words: str
    """The shared error in words."""


@dataclass(frozen=True, slots=True)
class Question:
    """One measurement, what it is compared with, and what is known of it.

    >>> from pytest_t2i.data import MetricInfo
    >>> score = Measurement(MetricInfo("score", 0.0, 1.0, "higher", ""), "nurse", None)
    >>> Question(score, "limit", 0.3).level
    0.95
    """

    measurement: Measurement
    """The measurement as judged."""
    against: Against
    bound: float | None = None
    """The limit, or the margin that is stated for a change; None without one."""
    level: float = 0.95
    """One-sided level of a single comparison, as the user gives it."""
    run: object = None
    """What knows the pictures, the detector and earlier runs; None outside of a run."""
    recorded: Baseline | None = None
    """The recorded run that is compared with."""
    part: LevelPart | None = None
    """The part of the run's error; None where each comparison has its level for itself."""

    def known(self, kind: type[K]) -> K | None:
        """Return what knows these facts (a Protocol that can be checked); None if nothing does."""
        return self.run if isinstance(self.run, kind) else None


class Levels(NamedTuple):
    """The levels of a comparison.

    >>> Levels(0.95).to_fail is None
    True
    """

    own: float
    """Level of a PASS, and of a FAIL unless ``to_fail`` is stricter."""
    to_fail: float | None = None
    """Level of a FAIL; None: the same. At 1.0 the comparison cannot fail."""
    held: str = ""
    """What is said of a comparison that would fail at its own level only."""


@runtime_checkable
class Void(Protocol):
    """What can leave a measurement without evidence.

    >>> class NoEstimate:
    ...     def void(self, question: Question) -> str:
    ...         return "" if question.measurement.images else "there are no images"
    >>> isinstance(NoEstimate(), Void)
    True
    """

    def void(self, question: Question) -> str:
        """Return why nothing can be decided; "" where something can."""


class Counted(Protocol):
    """The images of a family, as they are counted."""

    def with_each(self, change: Callable[[Any], Any]) -> Self:
        """Return them with the sample of each prompt changed; itself where none is."""

    def at_worst(self, side: Beyond) -> Self:
        """Return them with undetected images labelled so as to weaken a side most."""


@runtime_checkable
class Reading(Protocol):
    """What counts images in another way: the evidence is the weakest over all of them.

    >>> class FirstHalf:
    ...     fills_in = False
    ...     def reading(self, counted: Counted, side: Beyond) -> Counted:
    ...         return counted.with_each(lambda s: s.only(s.seeds[: len(s.seeds) // 2]))
    >>> isinstance(FirstHalf(), Reading)
    True
    """

    fills_in: bool
    """Whether it fills in what nobody saw: then what is seen alone is told beside it."""

    def reading(self, counted: Any, side: Beyond) -> Any:
        """Return the images of a family counted as weakens a side most; itself for no other way."""


@runtime_checkable
class Level(Protocol):
    """What changes the error that a comparison may spend.

    >>> class Strict:
    ...     def level(self, question: Question, levels: Levels) -> Levels:
    ...         return levels._replace(own=0.99)
    >>> isinstance(Strict(), Level)
    True
    """

    def level(self, question: Question, levels: Levels) -> Levels:
        """Return the levels of a comparison, given those that the caveats before it left."""


@runtime_checkable
class Remark(Protocol):
    """What says something of a verdict.

    >>> class Few:
    ...     def remark(self, question: Question, verdict: Verdict) -> Caveat | None:
    ...         return Caveat("few", "these are few images")
    >>> isinstance(Few(), Remark)
    True
    """

    def remark(self, question: Question, verdict: Verdict) -> Caveat | None:
        """Return what there is to say of a verdict; None for nothing."""


def why_void(question: Question, caveats: Iterable[object]) -> str:
    """Return the first reason for which nothing can be decided; "" where something can."""
    reasons = (caveat.void(question) for caveat in caveats if isinstance(caveat, Void))
    return next(filter(None, reasons), "")


def weakest_evidence(
    readings: Iterable[Reading], counted: C, p_values: Callable[[C, Beyond], PValues]
) -> list[Evidence]:
    """Return the weakest evidence of each member of a family over all readings of its images.

    Each reading is that of the whole family, as ``p_values`` are corrected for its members.
    """
    readings = list(readings)
    of_sides: list[PValues] = []
    seen_alone: list[PValues] = []
    is_filled = False
    for side in SIDES:
        ways = [counted]
        for reading in (reading for reading in readings if not reading.fills_in):
            others = [(way, reading.reading(way, side)) for way in ways]
            ways += [new_way for way, new_way in others if new_way is not way]
        filled = ways
        for reading in (reading for reading in readings if reading.fills_in):
            filled = [reading.reading(way, side) for way in filled]
        alone = _weakest([p_values(way, side) for way in ways])
        new = [way for way, before in zip(filled, ways, strict=True) if way is not before]
        worst = _weakest([p_values(way, side) for way in new]) if new else alone
        # Filled in, few images become many, which may be stronger evidence than theirs alone.
        pairs = zip(alone, worst, strict=True)
        of_sides.append([w if a is None or w is None else max(a, w) for a, w in pairs])
        is_filled = is_filled or bool(new)
        seen_alone.append(alone)
    evidence = list(map(Evidence, *of_sides))
    if not is_filled:
        return evidence
    return [
        member if None in alone else member._replace(labelled=tuple(alone))
        for member, *alone in zip(evidence, *seen_alone, strict=True)
    ]


def _weakest(ways: Sequence[PValues]) -> PValues:
    """Return the largest p-value of each member; None for one without any."""
    return [None if None in of_ways else max(of_ways) for of_ways in zip(*ways, strict=True)]


def levels_of(question: Question, caveats: Iterable[object]) -> Levels:
    """Return the levels of a comparison as all caveats leave them."""
    levels = Levels(question.level)
    for caveat in caveats:
        if isinstance(caveat, Level):
            levels = caveat.level(question, levels)
    return levels


def remarks_on(
    question: Question, verdict: Verdict, caveats: Iterable[object]
) -> tuple[Caveat, ...]:
    """Return what all caveats say of a verdict, in their order."""
    said = (caveat.remark(question, verdict) for caveat in caveats if isinstance(caveat, Remark))
    return tuple(remark for remark in said if remark is not None)
