"""Family: measurements of one metric that share one error level and are judged together, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pytest_t2i.data import Direction, Evidence, Interval, Limit, Verdict
from pytest_t2i.verdicts.judge import judge_family


@dataclass(frozen=True, eq=False)
class Family:
    """The measurements that share one error level; members are identified by their index."""

    intervals: tuple[Interval | None, ...]
    """Interval of each member; None without evidence."""
    evidence: Callable[[float, float], Sequence[Evidence]]
    """Function (bound, level) -> evidence of each member; ``beyond`` is adjusted for their
    number."""
    leans: Callable[[float], Sequence[float] | None] | None = None
    """Function bound -> posterior probability of each member to exceed the bound, or None."""
    _reached: dict[tuple[float, float], list[Verdict]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.intervals)

    def verdicts(self, limit: Limit, worse: Direction, level: float) -> list[Verdict]:
        """Return the verdict on each member; repeated calls use the stored verdicts."""
        key = (limit.bound, level)
        if key not in self._reached:
            leans = None if self.leans is None else self.leans(limit.bound)
            evidence = self.evidence(limit.bound, level)
            self._reached[key] = judge_family(
                self.intervals, evidence, limit, worse, level=level, leans=leans
            )
        return self._reached[key]
