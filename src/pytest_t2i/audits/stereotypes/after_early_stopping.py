"""Verdicts and intervals of stereotypes whose images were looked at repeatedly."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pytest_t2i import statistics
from pytest_t2i.audits.early_stopping import Shown, State, Stopping, StoppingRule, evidence
from pytest_t2i.data import Evidence, Interval, Prone
from pytest_t2i.settings import Settings
from pytest_t2i.statistics.group_sequential import SequentialTest, stopped_share_interval
from pytest_t2i.statistics.sequences import stereotype_sequence, stereotype_sequence_p_value
from pytest_t2i.statistics.shares import excess, in_direction


class CountedStereotype(Protocol):
    """One stereotype with its images (``audits.stereotypes.measure.Association``)."""

    @property
    def stopping(self) -> Stopping | None:
        """How the number of images was chosen while looking at them."""

    @property
    def present(self) -> int:
        """Number of images that show the attribute."""

    @property
    def clear(self) -> int:
        """Number of images that could be judged."""

    @property
    def expected(self) -> float:
        """Real-world share of the attribute."""

    @property
    def direction(self) -> Prone:
        """Whether the attribute is prone to be shown too often or too rarely."""

    @property
    def level(self) -> float:
        """Confidence level of intervals."""

    @property
    def counts(self) -> tuple[int, int, float]:
        """(images that show it, judged images, expected share); for "under", of its absence."""

    def distinct_among(self, images: int) -> int:
        """Return how many of the first images are distinct pictures."""

    def counts_of(self, images: slice) -> tuple[int, int, float]:
        """Return ``counts`` of some of the images."""


class StereotypeStopping(StoppingRule):
    """A stereotype stops by its own images."""

    def metrics(self, settings: Settings) -> Collection[str]:
        """Return the score of a stereotype."""
        del settings
        return ("stereotype_score",)

    def test(self, selection: Any, metric: str, test: SequentialTest) -> SequentialTest | None:
        """Return the test of a case's stereotype: its share against real-world share plus limit.

        Returns None where no share can exceed this sum.
        """
        del metric
        (stereotype,) = selection.stereotypes
        *_, real = in_direction(0, 0, stereotype.expected, stereotype.direction)
        edge = real + test.bound
        return replace(test, folded=False, bound=edge) if edge < 1.0 else None

    def state(self, value: CountedStereotype) -> State | None:
        """Return the state that the stereotype's images have reached."""
        stop = value.stopping
        if stop is None or stop.test is None or stop.rule == "again":
            return None
        return _stereotype_looks(value, stop).state(stop.test)


def stereotype_evidence(
    members: Sequence[CountedStereotype], bound: float, level: float
) -> list[Evidence]:
    """Return the evidence of a test's stereotypes, by their boundaries or valid at any look."""
    stops = [member.stopping for member in members if member.stopping is not None]
    tests = [stop.test for stop in stops if stop.test is not None]
    rules = [stop.rule for stop in stops]
    edges = [member.counts[2] + bound for member in members]
    same = [(test.bound, test.level) for test in tests] == [(edge, level) for edge in edges]
    if "again" in rules or not same:
        return _at_any_look(members, bound, level)
    return evidence(list(map(_stereotype_looks, members, stops)), tests, rules)


def stereotype_interval(member: CountedStereotype) -> Interval:
    """Return the interval of Psi after early stopping.

    It is exact where the stereotype stopped by its own images and all were judged. Else it holds at
    every look.
    """
    stop = member.stopping
    test = None if stop is None else stop.own_test
    k, n, real = member.counts
    if stop is None or test is None or n < stop.images:
        return stereotype_sequence(
            member.present, member.clear, member.expected, member.level, member.direction
        )
    share = stopped_share_interval(test, stop.looks, k, member.level)
    return excess(share, real)


def _stereotype_looks(member: CountedStereotype, stop: Stopping) -> Shown:
    """Return what the images showed at each look; those that could not be judged are left out."""
    looks: list[tuple[int, int]] = []
    lean = before = 0
    for images in stop.looks:
        lean, clear, _ = member.counts_of(slice(member.distinct_among(images)))
        if clear > before:
            looks.append((clear, images))
        before = clear
    fresh = None
    if stop.fresh:
        k, n, _ = member.counts_of(slice(member.distinct_among(stop.looks[-1]), None))
        fresh = (k, n)
    return Shown(tuple(looks), lean, lean, fresh)


def _at_any_look(
    members: Sequence[CountedStereotype], bound: float, level: float
) -> list[Evidence]:
    """Return evidence from confidence sequences and e-values, valid at any stopping point."""
    p_values = [
        stereotype_sequence_p_value(a.present, a.clear, a.expected, bound, a.direction)
        if a.clear
        else 1.0
        for a in members
    ]
    beyond = statistics.benjamini_hochberg(p_values).tolist()
    at = statistics.one_sided(level)
    within = [
        1.0 - level
        if a.clear
        and stereotype_sequence(a.present, a.clear, a.expected, at, a.direction).high <= bound
        else 1.0
        for a in members
    ]
    return [Evidence(*pair) for pair in zip(beyond, within, strict=True)]
