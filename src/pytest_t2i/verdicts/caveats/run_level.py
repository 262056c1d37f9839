"""One error level for all comparisons of a run, so that several tests do not fail it by chance.

Several comparisons, each at its own level, fail a run of an unchanged model far more often than any
of them (tests/simulations/releases.md). With ``--t2i-run-level`` the comparisons share one error:
each fails at its part of it (Bonferroni, the first step of Holm's method, which decides whether
anything fails at all). A PASS keeps its own level: a run passes where all its comparisons do, so
that several make an error less likely, not more (intersection-union).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pytest_t2i.verdicts.caveats.seams import LevelPart, Levels, Question


class RunLevel(NamedTuple):
    """The level of a run, and the number of comparisons that share its error.

    >>> print(RunLevel(0.95, 12))
    one error level of 95% for 12 comparisons: each fails at 99.58% (--t2i-run-level)
    """

    level: float
    """Confidence level of the whole run."""
    comparisons: int
    """Number of comparisons of the run; the prompts of a test share one."""

    @property
    def of_each(self) -> float:
        return (1.0 - self.level) / max(1, self.comparisons)

    def __str__(self) -> str:
        noun = "comparison" if self.comparisons == 1 else "comparisons"
        share = _per_cent(1.0 - self.of_each)
        return (
            f"one error level of {_per_cent(self.level)} for {self.comparisons} {noun}: "
            f"each fails at {share} (--t2i-run-level)"
        )


def _per_cent(level: float) -> str:
    """Return a level in per cent with at most two decimals.

    >>> _per_cent(0.95), _per_cent(0.9958333)
    ('95%', '99.58%')
    """
    return f"{100.0 * level:.2f}".rstrip("0").rstrip(".") + "%"


@dataclass(slots=True)
class LevelShare:
    """The part of a run's error that the comparisons of one running test may use."""

    run: RunLevel
    counted: int | None
    """Number of comparisons in the source of the test; None where it cannot be known before the
    test runs, as in a loop: the test has one part then, and each comparison half of what is left.
    """
    _compared: int = 0

    def spend(self) -> LevelPart:
        """Return the part of the test's next comparison, which no other comparison gets."""
        self._compared += 1
        error = self.run.of_each
        if self.counted is None:
            error *= 0.5**self._compared
        elif self._compared > self.counted:
            error = 0.0
        return LevelPart(1.0 - error, str(self.run))


UNCOUNTED = (
    "worse at {own}, but the test makes more comparisons than its source shows, and with "
    "--t2i-run-level all must be counted before the run: write them into the test itself"
)
HELD = "worse at {own} by itself, but the run's level needs {needed}: {run}"


class SharedLevel:
    """A comparison fails at its part of the run's error, and passes at its own level."""

    def level(self, question: Question, levels: Levels) -> Levels:
        if question.part is None:
            return levels
        needed, words = question.part
        own_words = _per_cent(levels.own)
        if needed >= 1.0:
            return Levels(levels.own, 1.0, UNCOUNTED.format(own=own_words))
        held_words = HELD.format(own=own_words, needed=_per_cent(needed), run=words)
        return Levels(levels.own, needed, held_words)
