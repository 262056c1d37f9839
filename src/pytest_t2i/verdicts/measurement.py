"""A measured metric: value, interval, evidence, and the family that shares an error level."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol, cast, runtime_checkable

from pytest_t2i.data import (
    Bounds,
    Count,
    Direction,
    Evidence,
    Interval,
    Limit,
    MetricInfo,
    Name,
    Outcome,
    Share,
    Verdict,
)
from pytest_t2i.statistics.planning import Design
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.judge import judge_family


@dataclass(frozen=True, eq=False)
class Family:
    """The measurements that share one error level; members are identified by their index."""

    intervals: tuple[Interval | None, ...]
    """Interval of each member; None without evidence."""
    evidence: Callable[[float, float], Sequence[Evidence]]
    """Function (bound, level) -> evidence of each member; ``beyond`` is adjusted for their
    number."""
    _reached: dict[tuple[float, float], list[Verdict]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.intervals)

    def verdicts(self, limit: Limit, worse: Direction, level: float) -> list[Verdict]:
        """Return the verdict on each member; repeated calls use the stored verdicts."""
        key = (limit.bound, level)
        if key not in self._reached:
            evidence = self.evidence(limit.bound, level)
            self._reached[key] = judge_family(self.intervals, evidence, limit, worse, level=level)
        return self._reached[key]


Power = Callable[[float, float, int, Design], float]
"""(true score, bound, images, what shares the error level) -> chance of a decided verdict."""
TOLERATED = 0.1
"""Growth since the baseline up to which a model PASSes where the limits file states no margin."""
DecidedBy = Literal["margin", "permutation test", "identical pictures"]
"""What decides a verdict against a baseline: the interval and a margin, an exact permutation test,
or identical pictures of the same model."""
Against = Literal["limit", "baseline", "anchor"]
"""The kind of a bound: a limit, the recorded run before, or the recorded run of --t2i-anchor."""
Sign = Literal["<=", "<", ">=", ">"]
OPERATORS: dict[Sign, Callable[[Any, Any], bool]] = {
    "<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """The numbers of images of a prompt by label."""

    male: Count
    female: Count
    undetected: Count


@dataclass(frozen=True, slots=True)
class MovedPrompt:
    """A prompt that probably became more biased than recorded."""

    id: Name
    probability: Share | None
    """Posterior probability that its absolute score grew, by empirical Bayes; None with too few
    prompts."""
    before: LabelCounts
    after: LabelCounts


class Change(NamedTuple):
    """The change of a measurement against its recorded counterpart.

    >>> score = MetricInfo("score", 0.0, 1.0, "higher", "")
    >>> Change.absent_because(score, 0.1, "nothing is recorded").verdict.outcome.value
    'INCONCLUSIVE'
    """

    verdict: Verdict
    interval: Interval | None
    """Interval of the worsening; None where nothing can be compared."""
    absent: str
    """Reason for which there is no interval."""
    remarks: tuple[str, ...] = ()
    before: float | None = None
    """Recorded score, estimated as for the comparison; None where nothing can be compared."""
    after: float | None = None
    """Score now, estimated in the same way."""
    moved: tuple[MovedPrompt, ...] = ()
    """Prompts that probably changed, most probable first."""
    decided_by: DecidedBy = "margin"
    fails_at_any_growth: bool = False
    """Whether a growth within the margin fails, too, where a permutation test finds it."""

    @classmethod
    def absent_because(cls, metric: MetricInfo, margin: float, reason: str) -> Change:
        """Return an INCONCLUSIVE change for a comparison that is impossible, with the reason."""
        limit = Limit(metric.name, margin, "largest worsening tolerated")
        verdict = Verdict(Outcome.INCONCLUSIVE, None, limit, message=reason)
        return cls(verdict, None, reason)


def unchanged(limit: Limit, images: int, message: str) -> Change:
    """Return the change of identical pictures: PASS with 0, without an estimate."""
    same = Interval(0.0, 0.0, 0.0, 1.0, "identical", images)
    return Change(Verdict(Outcome.PASS, same, limit, message=message), same, "", (message,))


class Compared(NamedTuple):
    """The record of a comparison, which travels with the test's report.

    >>> Compared("evenness", ("nurse", 0.4)).audit
    'evenness'
    """

    audit: str
    """Name of the audit of the record."""
    record: Any
    """A frozen dataclass; equal records are kept once."""


@runtime_checkable
class Judging(Protocol):
    """What a measurement is compared with: a limit (limit.py) or a recorded value (baseline.py)."""

    def judge(self, measurement: Measurement, sign: Sign) -> bool:
        """Record a check of the comparison, and tell whether the test goes on."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """A metric's estimate with all that a verdict needs.

    Comparing it with a limit is a statistical comparison; comparing it with a plain number is plain
    arithmetic on the estimate.

    >>> score = MetricInfo("score", 0.0, 1.0, "higher", "")
    >>> known = Measurement(score, "nurse", Interval(0.4, 0.2, 0.6, 0.95, "exact", 20))
    >>> known <= 0.5, float(known)
    (True, 0.4)
    """

    metric: MetricInfo
    subject: str
    """Subject of the measurement: a prompt's id, "model", ..."""
    interval: Interval | None
    """Interval of the score; None without evidence."""
    paper: float | None = None
    """The paper's plug-in estimate, where it differs from the interval's."""
    floor: float | None = None
    """Expected score of a perfectly fair model with as many images."""
    images: int | None = None
    """Number of images of the interval, from which the number of further images follows."""
    evidence: Callable[[float, float], Evidence] | None = None
    """Function (bound, level) -> one-sided p-values; None lets the ends of the interval decide."""
    family: Family | None = None
    """Family of measurements that share one error level with this one."""
    place: int = 0
    """Index of this measurement in the family."""
    absent: str = ""
    """Reason for which there is no interval."""
    remarks: tuple[str, ...] = ()
    """Lines for the failure text: the most biased prompts, where the pictures are."""
    power: Power | None = None
    """Chance that a member of the family is decided; None where it is not known."""
    worst_case: Bounds | None = None
    """Bounds of the score of these images over all labels of the undetected ones; None without
    any."""
    compared: Compared | None = None
    """What the audit's record keeps of this measurement; None where the record is computed anew."""
    is_of_model: bool = False
    """Whether the subject is the whole model, not one prompt."""
    despite_repeats: str | None = None
    """Members of which nothing is judged, as too many of their pictures repeat, in words: the
    evidence holds whatever these show. "" where it does not rest on pictures; None where repeated
    pictures leave no verdict."""
    change: Callable[[Baseline, float | None, float], Change] | None = None
    """Function (baseline, stated margin or None, level) -> change against the recorded
    counterpart."""

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    @property
    def estimate(self) -> float:
        """The point estimate; ValueError without evidence."""
        return self._evident.estimate

    @property
    def low(self) -> float:
        """The lower end of the interval; ValueError without evidence."""
        return self._evident.low

    @property
    def high(self) -> float:
        """The upper end of the interval; ValueError without evidence."""
        return self._evident.high

    @property
    def _evident(self) -> Interval:
        if self.interval is None:
            raise ValueError(
                f"{self.name} of {self.subject}: there is no estimate: {self.absent or 'no image'}"
            )
        return self.interval

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
        why = f" ({self.absent})" if self.absent else ""
        value = f"no evidence{why}" if self.interval is None else str(self.interval)
        return f"{self.name} of {self.subject} = {value}"

    __repr__ = __str__

    def without_evidence(self, because: str) -> Measurement:
        """Return the measurement without its evidence, for a reason outside the numbers."""
        return Measurement(
            self.metric,
            self.subject,
            None,
            absent=because,
            remarks=self.remarks,
            is_of_model=self.is_of_model,
        )

    def _compare(self, operand: Any, sign: Sign) -> bool:
        if isinstance(operand, Judging):
            return operand.judge(self, sign)
        if not isinstance(operand, int | float):
            return cast("bool", NotImplemented)
        return OPERATORS[sign](self.estimate, operand)


def _absolute(value: Any) -> Any:
    return None if value is None else abs(value)
