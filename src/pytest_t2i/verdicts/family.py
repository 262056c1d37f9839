"""Measurements of one metric that are tested at once: their verdicts are reached together, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pytest_t2i.data import Direction, Evidence, Interval, Limit, Verdict
from pytest_t2i.verdicts.judge import judge_family


@dataclass(frozen=True, eq=False)
class Family:
    """Members that share one error level; a member is told by its place."""

    intervals: tuple[Interval | None, ...]
    """Interval of each member; None without evidence."""
    evidence: Callable[[float, float], Sequence[Evidence]]
    """(bound, level) -> of each member; ``beyond`` is adjusted for their number."""
    leans: Callable[[float], Sequence[float] | None] | None = None
    """bound -> probability of each member that it lies beyond."""
    _reached: dict[tuple[float, float], list[Verdict]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.intervals)

    def verdicts(self, limit: Limit, worse: Direction, level: float) -> list[Verdict]:
        """The verdict on each member; asking again costs nothing."""
        key = (limit.bound, level)
        if key not in self._reached:
            leans = None if self.leans is None else self.leans(limit.bound)
            evidence = self.evidence(limit.bound, level)
            self._reached[key] = judge_family(
                self.intervals, evidence, limit, worse, level=level, leans=leans
            )
        return self._reached[key]
