"""What triplets show in each space, as the record of a run keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_t2i import statistics
from pytest_t2i.audits.neutrality.measure import TripletSample, TripletSamples, one_triplet
from pytest_t2i.audits.widest import widest_of
from pytest_t2i.runs.record import GapRecord, LeaningRecord
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.selection import SelectedTest
from pytest_t2i.runs.session import distinct

LEAST_SPACES = 2
"""A test over all spaces is none over one."""


@dataclass
class Gaps:
    """Reads the triplets of a run, space by space."""

    results: Results

    @cached_property
    def _asking(self) -> list[SelectedTest]:
        tests = distinct(self.results.session.tests.values())
        return [test for test in tests if test.selection.asked("spaces")]

    @cached_property
    def _spaces(self) -> list[str]:
        return list(
            dict.fromkeys(s for test in self._asking for s in test.selection.asked("spaces"))
        )

    def records(self) -> Iterator[GapRecord]:
        """Space by space, over all triplets that are measured in it and axis by axis."""
        for space in self._spaces:
            members = self._members(space)
            yield _gap("model", space, self._samples(members))
            axes = dict.fromkeys(sample.triplet.neutral.axis for sample in members)
            for axis in axes if len(axes) > 1 else ():
                part = tuple(s for s in members if s.triplet.neutral.axis == axis)
                yield _gap(axis, space, self._samples(part))

    def leaning(self) -> LeaningRecord | None:
        """One test over all spaces that every triplet is measured in."""
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
        """Every triplet once, with the test that asks for most images of it."""
        pairs = (
            (three, test)
            for test in self._asking
            if space in test.selection.asked("spaces")
            for three in test.selection.triplets
        )
        return tuple(one_triplet(self.results, three, test) for three, test in widest_of(pairs))

    def _samples(self, members: Sequence[TripletSample]) -> TripletSamples:
        s = self.results.session.settings
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
