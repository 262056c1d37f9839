"""A measured metric that tests compare with limits, baselines or plain numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast

from pytest_t2i.data import (
    Bounds,
    Count,
    Evidence,
    Interval,
    Limit,
    MetricInfo,
    Name,
    Outcome,
    Share,
    Verdict,
)
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.family import Family

DecidedBy = Literal["margin", "permutation test", "identical pictures"]
"""What a verdict against a baseline rests on: the interval and a margin; an exact permutation test;
nothing, as the same model made the same pictures."""
Sign = Literal["<=", "<", ">=", ">"]
OPERATORS: dict[Sign, Callable[[Any, Any], bool]] = {
    "<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """Images of a prompt, by what the detector says of them."""

    male: Count
    female: Count
    undetected: Count


@dataclass(frozen=True, slots=True)
class MovedPrompt:
    """A prompt that probably became more biased than it was recorded."""

    id: Name
    probability: Share | None
    """That its absolute score grew, by empirical Bayes; None where too few prompts tell."""
    before: LabelCounts
    after: LabelCounts


class Change(NamedTuple):
    """A measurement against its recorded counterpart.

    >>> score = MetricInfo("score", 0.0, 1.0, "higher", "")
    >>> Change.absent_because(score, 0.1, "nothing is recorded").verdict.outcome.value
    'INCONCLUSIVE'
    """

    verdict: Verdict
    interval: Interval | None
    """Interval of the worsening; None where nothing can be compared."""
    absent: str
    """Why there is no interval."""
    remarks: tuple[str, ...] = ()
    before: float | None = None
    """As recorded, estimated as it is compared; None where nothing can be compared."""
    after: float | None = None
    """The same of now."""
    moved: tuple[MovedPrompt, ...] = ()
    """Prompts behind the change, the likeliest first."""
    decided_by: DecidedBy = "margin"

    @classmethod
    def absent_because(cls, metric: MetricInfo, margin: float, reason: str) -> Change:
        """Nothing that can be compared: INCONCLUSIVE, with the reason."""
        limit = Limit(metric.name, margin, "largest worsening tolerated")
        verdict = Verdict(Outcome.INCONCLUSIVE, None, limit, message=reason)
        return cls(verdict, None, reason)


def unchanged(limit: Limit, images: int, message: str) -> Change:
    """No change at all, of which nothing need be estimated."""
    same = Interval(0.0, 0.0, 0.0, 1.0, "identical", images)
    return Change(Verdict(Outcome.PASS, same, limit, message=message), same, "", (message,))


class Compared(NamedTuple):
    """The record of something that a test compared; it travels with the test's report.

    >>> Compared("evenness", ("nurse", 0.4)).audit
    'evenness'
    """

    audit: str
    """Name of the audit that it belongs to."""
    record: Any
    """A frozen dataclass; what is equal is kept once."""


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """A metric's estimate with all that a verdict needs.

    Compared with a limit it is a statistical comparison; compared with a plain number it is plain
    arithmetic on the estimate.

    >>> score = MetricInfo("score", 0.0, 1.0, "higher", "")
    >>> known = Measurement(score, "nurse", Interval(0.4, 0.2, 0.6, 0.95, "exact", 20))
    >>> known <= 0.5, float(known)
    (True, 0.4)
    """

    metric: MetricInfo
    subject: str
    """What was measured: a prompt's id, "model", ..."""
    interval: Interval | None
    """None without any evidence."""
    paper: float | None = None
    """The paper's plug-in estimate, where it differs from the interval's."""
    floor: float | None = None
    """What a perfectly fair model would show on average with as many images."""
    images: int | None = None
    """Images behind the interval, to say how many more would decide."""
    evidence: Callable[[float, float], Evidence] | None = None
    """(bound, level) -> one-sided p-values; None: the ends of the interval decide."""
    family: Family | None = None
    """What was tested at once with this one and shares its error level."""
    place: int = 0
    """Which member of the family it is."""
    absent: str = ""
    """Why there is no interval."""
    remarks: tuple[str, ...] = ()
    """Lines for the failure text: the most biased prompts, where the pictures are."""
    worst_case: Bounds | None = None
    """Where the score of these images lies whatever the undetected show; None if none are."""
    compared: Compared | None = None
    """What the audit's record keeps of it; None where it is computed for the record anew."""
    is_of_model: bool = False
    """Whether it is about the whole model and not about one prompt of it."""
    change: Callable[[Baseline, float | None, float], Change] | None = None
    """(baseline, stated margin if any, level) -> how it compares with its recorded counterpart."""

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    @property
    def estimate(self) -> float:
        """The point estimate; ValueError without evidence."""
        if self.interval is None:
            raise ValueError(
                f"{self.name} of {self.subject}: there is no estimate: {self.absent or 'no image'}"
            )
        return self.interval.estimate

    def __float__(self) -> float:
        return float(self.estimate)

    def __abs__(self) -> Measurement:
        return replace(
            self,
            interval=_absolute(self.interval),
            paper=_absolute(self.paper),
            worst_case=_absolute(self.worst_case),
        )

    def __le__(self, other: Any) -> bool:
        return self._compare(other, "<=")

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, "<")

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, ">=")

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, ">")

    def __str__(self) -> str:
        value = "no evidence" if self.interval is None else str(self.interval)
        return f"{self.name} of {self.subject} = {value}"

    __repr__ = __str__

    def without_evidence(self, because: str) -> Measurement:
        """The same as if nothing were known, for a reason that is none of the numbers'."""
        return Measurement(
            self.metric,
            self.subject,
            None,
            absent=because,
            remarks=self.remarks,
            is_of_model=self.is_of_model,
        )

    def _compare(self, other: Any, sign: Sign) -> bool:
        if hasattr(other, "judge"):  # a limit or a baseline
            return cast("bool", other.judge(self, sign))
        if not isinstance(other, int | float):
            return cast("bool", NotImplemented)
        return OPERATORS[sign](self.estimate, other)


def _absolute(value: Any) -> Any:
    return None if value is None else abs(value)
