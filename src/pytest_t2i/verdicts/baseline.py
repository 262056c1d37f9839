"""The fixture ``baseline``: a recorded run that measurements are compared with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist

from pytest_t2i.data import TIE, Interval, Limit, MetricInfo, Outcome, Verdict
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.metrics.info import INFO
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.check import Check, checked, current, record_check
from pytest_t2i.verdicts.limit import operator_of
from pytest_t2i.verdicts.limits_file import MARGIN
from pytest_t2i.verdicts.measurement import TOLERATED, Against, Change, Measurement, Sign
from pytest_t2i.verdicts.reach_verdict import Found

ANCHOR_MARGIN = 0.05
"""Growth since the anchor that is tolerated where the limits file states no margin: a permutation
test would find any growth, and fail one of many unchanged releases by chance."""


def check_recorded(metric: str) -> None:
    """Raise UnknownNameError for a metric that baselines do not record."""
    comparable = [name for name, info in INFO.items() if info.in_baselines]
    if metric not in comparable:
        raise UnknownNameError("metric of a baseline", metric, comparable)


@dataclass(frozen=True, slots=True, repr=False)
class RecordedRun:
    """The recorded run of --t2i-baseline, as the fixture ``baseline`` gives it.

    >>> import pytest
    >>> from pytest_t2i import RecordedRun, Samples, axes
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(samples: Samples, baseline: RecordedRun) -> None:
    ...     assert samples.model_bias_score <= baseline("model_bias_score")
    """

    baseline: Baseline
    differences: tuple[str, ...] = ()
    """Settings that differ, where the comparison was forced, and libraries that differ."""
    against: Against = "baseline"
    """Whether this is the run before, "baseline", or the first one, "anchor"."""
    anchor: RecordedRun | None = None
    """The run of --t2i-anchor, which the same measurements are compared with as well."""

    def __repr__(self) -> str:
        return f"<{self.against} of {self.baseline.model!r}>"

    def __call__(self, metric: str) -> RecordedValue:
        """Return the recorded value of a metric, to compare a measurement with.

        Raises UnknownNameError for a metric that baselines do not record.
        """
        check_recorded(metric)
        return RecordedValue(self, metric, current().limits.get(metric + MARGIN))


@dataclass(slots=True)
class RecordedValue:
    """A metric as recorded, with the tolerated worsening (margin)."""

    run: RecordedRun
    metric: str
    margin: Limit | None
    """Margin of the limits file; None for the metric's own default."""
    check: Check | None = field(default=None, compare=False)
    """Check of the last comparison with this value, for the failure text."""

    def __repr__(self) -> str:
        margin = "" if self.margin is None else f" + margin {self.margin.bound:g}"
        return f"{self.run.against} of {self.run.baseline.model}{margin}"

    def judge(self, measurement: Measurement, sign: Sign) -> bool:
        """Compare a measurement, record the check, and tell whether the test goes on.

        A regression is a worsening beyond the margin, since the baseline or since the anchor.
        Raises ConfigurationError for another metric, or an operator that points the other way.
        """
        self._check_operands(measurement, sign)
        goes_on = self._compare(measurement, sign)
        if self.run.anchor is None:
            return goes_on
        since_anchor = replace(self, run=self.run.anchor)
        if since_anchor._compare(measurement, sign):  # noqa: SLF001 - of this class
            return goes_on
        if goes_on:
            self.check = since_anchor.check
        return False

    def _compare(self, measurement: Measurement, sign: Sign) -> bool:
        bound = self.margin.bound if self.margin else None
        run = self.run
        self.check = checked(measurement, run.against, bound, sign, self._found, run.baseline)
        return record_check(self.check, measurement.compared)

    def _found(self, measurement: Measurement, level: float) -> Found:
        change = self._change_at(measurement, level)
        differences = (f"differs from the {self.run.against}: {d}" for d in self.run.differences)
        change = change._replace(remarks=(*change.remarks, *differences))
        return Found(self._explained(change.verdict, change.absent), change)

    def _change_at(self, measurement: Measurement, level: float) -> Change:
        """Return the change at a level; an anchor always has a margin."""
        bound = self.margin.bound if self.margin else None
        if measurement.change is None:
            limit = Limit(self.metric, bound or 0.0)
            return Change(Verdict(Outcome.INCONCLUSIVE, None, limit), None, measurement.absent)
        change = measurement.change(self.run.baseline, bound, level)
        if self.run.against == "anchor" and change.fails_at_any_growth:
            return measurement.change(self.run.baseline, ANCHOR_MARGIN, level)
        return change

    def _explained(self, verdict: Verdict, absent: str) -> Verdict:
        """Return the verdict with the margin's reason and author from the limits file."""
        if verdict.interval is None:
            verdict = replace(verdict, message=absent)
        if self.margin is None or not (self.margin.reason or self.margin.author):
            return verdict
        reason, author = self.margin.reason, self.margin.author
        return replace(verdict, limit=replace(verdict.limit, reason=reason, author=author))

    def _check_operands(self, measurement: Measurement, sign: str) -> None:
        right = operator_of(measurement.metric)
        if measurement.name != self.metric or measurement.change is None or sign[0] != right[0]:
            raise ConfigurationError(
                f"compare with a baseline as: {measurement.name} {right} "
                f"baseline({measurement.name!r})"
            )


METHOD = "difference of intervals"
BY_DEFAULT = "tolerated by default: no margin is stated in the limits"
"""Why the largest worsening is tolerated that a PASS without a margin may have overlooked."""


def worsening(
    metric: MetricInfo,
    before: Interval,
    after: Interval,
    *,
    margin: float | None,
    level: float,
    change: Interval | None = None,
    p_value: float | None = None,
) -> Change:
    """Return by how much a metric worsened between two independent sets of images, with a verdict.

    FAIL where the interval of the worsening lies above the margin, PASS where it lies within.

    Args:
        metric: the metric, with its worse direction.
        before: recorded interval.
        after: interval measured now.
        margin: tolerated worsening, at least 0; None where the limits state none, so that 0.1 is.
        level: one-sided confidence level of the verdict, in (0.5, 1).
        change: two-sided interval of the worsening; None recovers the standard error of either side
            from its interval, by a normal approximation.
        p_value: p-value of an exact test of any worsening. Where no margin is stated, a worsening
            that the test finds is a FAIL, too.

    Returns:
        The change, positive for a worsening, with its two-sided interval and the verdict.

    >>> quality = MetricInfo("quality", 0.0, 1.0, "lower", "")
    >>> known, now = Interval(0.9, 0.85, 0.95, 0.95, "", 40), Interval(0.5, 0.4, 0.6, 0.95, "", 40)
    >>> worsening(quality, known, now, margin=0.1, level=0.95).verdict.outcome.value
    'FAIL'
    """
    interval = change or _difference(metric, before, after, level)
    if margin is None:
        limit = Limit(metric.name, TOLERATED, BY_DEFAULT)
    else:
        limit = Limit(metric.name, margin, "largest worsening tolerated")
    found = Change(
        judge.judge(interval, limit, "higher"), interval, "", (), before.estimate, after.estimate,
        fails_at_any_growth=margin is None and p_value is not None,
    )  # fmt: skip
    if margin is not None or p_value is None:
        return found
    verdict = replace(found.verdict, p_value=p_value)
    if p_value > 1.0 - level + TIE:
        return found._replace(verdict=verdict)
    verdict = replace(verdict, outcome=Outcome.FAIL, message="worse than recorded")
    return found._replace(verdict=verdict, decided_by="permutation test")


def _difference(metric: MetricInfo, before: Interval, after: Interval, level: float) -> Interval:
    sign = -1.0 if metric.worse == "lower" else 1.0
    change = sign * (after.estimate - before.estimate)
    reach = NormalDist().inv_cdf(level) * math.hypot(_spread(before), _spread(after))
    two_sided = 2.0 * level - 1.0
    return Interval(
        change, change - reach, change + reach, two_sided, METHOD, min(before.n, after.n)
    )


def _spread(interval: Interval) -> float:
    """Return the standard error behind a two-sided interval, by a normal approximation."""
    reach = NormalDist().inv_cdf((1.0 + interval.level) / 2.0)
    return (interval.high - interval.low) / (2.0 * reach)
