"""One error level for all comparisons of a run, so that several tests do not fail it by chance.

Several comparisons, each at its own level, fail a run of an unchanged model far more often than any
of them (tests/simulations/releases.md). With ``--t2i-run-level`` the comparisons share one error:
each fails at its part of it (Bonferroni, the first step of Holm's method, which decides whether
anything fails at all). A PASS keeps its own level: a run passes where all its comparisons do, so
that several make an error less likely, not more (intersection-union).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from pytest_t2i.data import Outcome, Verdict

V = TypeVar("V")


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
        """Error of one comparison."""
        return (1.0 - self.level) / max(1, self.comparisons)

    def __str__(self) -> str:
        several = "comparison" if self.comparisons == 1 else "comparisons"
        each = _per_cent(1.0 - self.of_each)
        return (
            f"one error level of {_per_cent(self.level)} for {self.comparisons} {several}: "
            f"each fails at {each} (--t2i-run-level)"
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

    def next_level(self) -> float:
        """Return the level at which the next comparison of the test fails; 1.0: it cannot fail."""
        self._compared += 1
        if self.counted is None:
            return 1.0 - self.run.of_each * 0.5**self._compared
        return 1.0 - self.run.of_each if self._compared <= self.counted else 1.0


UNCOUNTED = (
    "worse at {own}, but the test makes more comparisons than its source shows, and with "
    "--t2i-run-level all must be counted before the run: write them into the test itself"
)
HELD = "worse at {own} by itself, but the run's level needs {needed}: {run}"


def at_run_level(
    decided: V,
    outcome_of: Callable[[V], Outcome],
    share: LevelShare | None,
    again: Callable[[float], V],
    own: float,
) -> tuple[V, str]:
    """Return a decision that fails only at the run's level, and why it does not fail; else "".

    ``share`` is the test's part of the run's error (None where each comparison has its own),
    ``again`` decides at another level, and ``own`` is the level of a single comparison.
    """
    if share is None:
        return decided, ""
    level = share.next_level()
    if outcome_of(decided) is not Outcome.FAIL:
        return decided, ""
    if level >= 1.0:
        return decided, UNCOUNTED.format(own=_per_cent(own))
    strict = again(max(level, own))
    if outcome_of(strict) is Outcome.FAIL:
        return strict, ""
    return strict, HELD.format(own=_per_cent(own), needed=_per_cent(level), run=share.run)


def held_open(verdict: Verdict, message: str) -> Verdict:
    """Return a verdict that the run's level does not let fail, with the reason; "": as it is."""
    if not message:
        return verdict
    outcome = Outcome.INCONCLUSIVE if verdict.outcome is Outcome.FAIL else verdict.outcome
    text = f"{message}; {verdict.message}" if verdict.message else message
    return replace(verdict, outcome=outcome, message=text)
