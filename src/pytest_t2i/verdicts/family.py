"""Measurements of one metric that are tested at once: their verdicts are reached together, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pytest_t2i.data import Direction, Interval, Limit, Verdict
from pytest_t2i.verdicts.judge import judge_family


@dataclass(frozen=True, eq=False)
class Family:
    """Members that share one error level; a member is told by its place."""

    intervals: tuple[Interval | None, ...]
    """Of each member; None without evidence."""
    p_values: Callable[[float], Sequence[float | None]]
    """bound -> evidence of each against "the truth lies within the bound", not adjusted."""
    _reached: dict[tuple[float, float], list[Verdict]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.intervals)

    def verdicts(self, limit: Limit, worse: Direction, level: float) -> list[Verdict]:
        """The verdict on each member; asking again costs nothing."""
        key = (limit.bound, level)
        if key not in self._reached:
            self._reached[key] = judge_family(
                self.intervals, self.p_values(limit.bound), limit, worse, level=level
            )
        return self._reached[key]
