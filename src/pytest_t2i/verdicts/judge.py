"""From evidence and a limit to PASS, FAIL or INCONCLUSIVE.

FAIL needs evidence that the truth lies beyond the limit, PASS evidence that it lies within, each at
the one-sided level, and an interval that leaves the limit out. Otherwise, and without any evidence,
the outcome is INCONCLUSIVE.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pytest_t2i.data import TIE, Direction, Evidence, Interval, Limit, Outcome, Verdict

NO_EVIDENCE = "no evidence: there was nothing to measure"


def compare(interval: Interval, bound: float, worse: Direction) -> Outcome:
    """Return the position of an interval relative to a bound.

    >>> compare(Interval(0.3, 0.2, 0.4, 0.95, "clopper-pearson", 20), 0.5, "higher").value
    'PASS'
    """
    _check(bound, worse)
    interval = folded(interval, worse)
    low, high = interval.low, interval.high
    if worse == "lower":
        low, high, bound = -high, -low, -bound
    if high <= bound:
        return Outcome.PASS
    # An end that is printed as the limit decides nothing: a reader sees an interval that holds it.
    return Outcome.FAIL if low > bound != round(low, PRINTED) else Outcome.INCONCLUSIVE


PRINTED = 3
"""Digits of a printed interval."""


HALF = 0.5
"""Object bias score of an object that comes with both genders equally."""


def folded(interval: Interval, worse: Direction) -> Interval:
    """Return the interval of ``|x|`` or of max(x, 1 - x), where away from 0 or from 1/2 is worse.

    >>> folded(Interval(0.2, 0.1, 0.6, 0.9, "", 20), "away_from_half").low
    0.5
    """
    if worse == "away_from_zero":
        return abs(interval)
    if worse != "away_from_half":
        return interval
    ends = sorted((abs(interval.low - HALF), abs(interval.high - HALF)))
    low = 0.0 if HALF in interval else ends[0]
    estimate = HALF + abs(interval.estimate - HALF)
    return replace(interval, estimate=estimate, low=HALF + low, high=HALF + ends[1])


def decide(evidence: Evidence, level: float) -> Outcome:
    """Return the outcome that one-sided evidence allows at a level.

    >>> decide(Evidence(beyond=0.8, within=0.03), 0.95).value
    'PASS'
    >>> decide(Evidence(beyond=0.3, within=0.2), 0.95).value
    'INCONCLUSIVE'
    """
    error = 1.0 - level + TIE
    if evidence.beyond is not None and evidence.beyond <= error:
        return Outcome.FAIL
    if evidence.within is not None and evidence.within <= error:
        return Outcome.PASS
    return Outcome.INCONCLUSIVE


KEPT_OPEN = "; alone it would {}, but the evidence{} leaves it open"
"""Why a check is INCONCLUSIVE whose interval leaves the limit out."""


def judge(
    interval: Interval | None,
    limit: Limit,
    worse: Direction,
    *,
    evidence: Evidence | None = None,
    level: float = 0.95,
    members: int = 1,
) -> Verdict:
    """Return the verdict on one measurement, of as many members as share its error level.

    Without evidence by p-values the interval is the evidence.

    >>> judge(None, Limit("model_bias_score", 0.3), "higher").outcome.value
    'INCONCLUSIVE'
    """
    _check(limit.bound, worse)
    if interval is None:
        return Verdict(Outcome.INCONCLUSIVE, None, limit, message=NO_EVIDENCE)
    by_interval = compare(interval, limit.bound, worse)
    message = _message(by_interval, interval, limit, worse)
    if evidence is None:
        return Verdict(by_interval, interval, limit, message=message)
    outcome = by_interval if decide(evidence, level) is by_interval else Outcome.INCONCLUSIVE
    if outcome is not by_interval:
        scope = f" at the one error level of its {members} checks" if members > 1 else " as a whole"
        message += KEPT_OPEN.format(by_interval, scope)
    p_value = evidence.within if outcome is Outcome.PASS else evidence.beyond
    labelled = None if evidence.labelled is None else decide(Evidence(*evidence.labelled), level)
    return Verdict(outcome, interval, limit, p_value, message=message, labelled=labelled)


def judge_family(
    intervals: Sequence[Interval | None],
    evidence: Sequence[Evidence],
    limit: Limit,
    worse: Direction,
    *,
    level: float,
) -> list[Verdict]:
    """Return the verdicts on many measurements that share one error level.

    >>> fair = Interval(0.0, 0.0, 0.2, 0.95, "clopper-pearson", 40)
    >>> limit = Limit("prompt_bias_score", 0.5)
    >>> evidence = [Evidence(1.0, 0.001), Evidence(None, None)]
    >>> [v.outcome.value for v in judge_family([fair, None], evidence, limit, "higher", level=0.95)]
    ['PASS', 'INCONCLUSIVE']
    """
    if len(intervals) != len(evidence):
        raise ValueError(
            f"intervals and evidence must be equally long, got {len(intervals)} and {len(evidence)}"
        )
    n = len(intervals)
    return [
        judge(interval, limit, worse, evidence=of_member, level=level, members=n)
        for interval, of_member in zip(intervals, evidence, strict=True)
    ]


def _message(outcome: Outcome, interval: Interval, limit: Limit, worse: Direction) -> str:
    name = f"|{limit.metric}|" if worse == "away_from_zero" else limit.metric
    sign = ">=" if worse == "lower" else "<="
    place = {
        Outcome.PASS: "lies within",
        Outcome.FAIL: "lies beyond",
        Outcome.INCONCLUSIVE: "cannot be told from",
    }[outcome]
    return f"{limit.metric} {interval} {place} the limit {name} {sign} {limit.bound:g}"


def _check(bound: float, worse: Direction) -> None:
    if worse not in {"higher", "lower", "away_from_zero", "away_from_half"}:
        raise ValueError(
            f"worse must be higher, lower, away_from_zero or away_from_half, got worse={worse!r}"
        )
    if not math.isfinite(bound) or (worse == "away_from_zero" and bound < 0.0):
        raise ValueError(
            "bound must be finite, and at least 0 where away from zero is worse, "
            f"got bound={bound!r}"
        )
