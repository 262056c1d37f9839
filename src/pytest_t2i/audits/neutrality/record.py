"""The record of neutrality in run.json: gaps in each space, and one test over all spaces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_t2i import statistics
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.largest_samples import widest_of
from pytest_t2i.audits.neutrality.measure import TripletSample, TripletSamples, one_triplet
from pytest_t2i.data import Count, Interval, Number, Share

LEAST_SPACES = 2
"""Smallest number of spaces for the test over all spaces."""


@dataclass(frozen=True, slots=True)
class GapRecord:
    """The similarity gap in one space over a set of triplets."""

    space: str
    name: str
    """Name of the set: "model" or an axis."""
    gap: Interval | None
    to_feminine: Number | None
    to_masculine: Number | None
    triplets: Count
    p_value: Share | None = None
    """Two-sided p-value against "the gap is 0"; None without an interval."""

    @property
    def is_of_model(self) -> bool:
        """Whether the set holds all triplets, and not those of one axis."""
        return self.name == "model"


@dataclass(frozen=True, slots=True)
class LeaningRecord:
    """One test over all spaces of a run: is neutral nearer to one gender everywhere (Wu RQ1)?"""

    spaces: tuple[str, ...]
    masculine: Share
    """p-value against "in some space neutral is not nearer to masculine"."""
    feminine: Share
    """p-value against "in some space neutral is not nearer to feminine"."""


@dataclass(frozen=True, slots=True)
class NeutralityPart:
    """The part of run.json that neutrality writes."""

    gaps: tuple[GapRecord, ...] = ()
    leaning: LeaningRecord | None = None
    """The test over all spaces; None where fewer than two are exposed."""


def measured(context: AuditContext) -> NeutralityPart | None:
    """Return the gaps in every space that tests ask for; None where they ask for none."""
    gaps = _Gaps(context)
    records = tuple(gaps.records())
    return NeutralityPart(records, gaps.leaning()) if records else None


@dataclass
class _Gaps:
    """The gaps of a run's triplets, space by space."""

    context: AuditContext

    @cached_property
    def _asking(self) -> list[AskedTest]:
        return [test for test in self.context.tests if test.selection.asked("spaces")]

    @cached_property
    def _spaces(self) -> list[str]:
        return list(
            dict.fromkeys(s for test in self._asking for s in test.selection.asked("spaces"))
        )

    def records(self) -> Iterator[GapRecord]:
        """Yield the gaps of each space, over all triplets measured in it and axis by axis."""
        for space in self._spaces:
            members = self._members(space)
            yield _gap("model", space, self._samples(members))
            axes = dict.fromkeys(sample.triplet.neutral.axis for sample in members)
            for axis in axes if len(axes) > 1 else ():
                part = tuple(s for s in members if s.triplet.neutral.axis == axis)
                yield _gap(axis, space, self._samples(part))

    def leaning(self) -> LeaningRecord | None:
        """Return one test over all spaces in which every triplet is measured."""
        spaces = [
            s for s in self._spaces if all(s in t.selection.asked("spaces") for t in self._asking)
        ]
        if not spaces:
            return None
        samples = self._samples(self._members(spaces[0]))
        seen = [space for space in spaces if samples.similarities(space)]
        leaning = samples.leaning(seen) if len(seen) >= LEAST_SPACES else None
        if leaning is None:
            return None
        return LeaningRecord(tuple(seen), leaning.masculine, leaning.feminine)

    def _members(self, space: str) -> tuple[TripletSample, ...]:
        """Return every triplet once, with the images of the test that asks for most."""
        pairs = (
            (three, test)
            for test in self._asking
            if space in test.selection.asked("spaces")
            for three in test.selection.triplets
        )
        return tuple(one_triplet(self.context, three, test) for three, test in widest_of(pairs))

    def _samples(self, members: Sequence[TripletSample]) -> TripletSamples:
        s = self.context.settings
        return TripletSamples(tuple(members), s.confidence, s.seed, s.words)


def _gap(name: str, space: str, triplets: TripletSamples) -> GapRecord:
    pairs = triplets.similarities(space)
    gap = triplets.gap_interval(pairs)
    gaps = [pair.to_masculine - pair.to_feminine for pair in pairs]
    return GapRecord(
        space,
        name,
        gap,
        _mean([float(pair.to_feminine.mean()) for pair in pairs]),
        _mean([float(pair.to_masculine.mean()) for pair in pairs]),
        len(pairs),
        None if gap is None else statistics.gap_p_value(gaps, 0.0, words=triplets.words),
    )


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
