"""From evidence and a limit to PASS, FAIL or INCONCLUSIVE.

FAIL needs evidence that the truth lies beyond the limit, PASS evidence that it lies within, each at
the one-sided level, and an interval that leaves the limit out. Otherwise, and without any evidence,
the outcome is INCONCLUSIVE.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from pytest_t2i.data import TIE, Direction, Evidence, Interval, Limit, Outcome, Verdict
from pytest_t2i.statistics.planning import Design, images_needed, prompt_power

NO_EVIDENCE = "no evidence: there was nothing to measure"
# Larger numbers of images are no useful advice: the estimate practically lies on the bound.
MOST_IMAGES = 10_000_000


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
    return Outcome.FAIL if low > bound else Outcome.INCONCLUSIVE


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


def judge(
    interval: Interval | None,
    limit: Limit,
    worse: Direction,
    *,
    evidence: Evidence | None = None,
    level: float = 0.95,
) -> Verdict:
    """Return the verdict on one measurement.

    >>> judge(None, Limit("model_bias_score", 0.3), "higher").outcome.value
    'INCONCLUSIVE'
    """
    _check(limit.bound, worse)
    if interval is None:
        return Verdict(Outcome.INCONCLUSIVE, None, limit, message=NO_EVIDENCE)
    if evidence is None:
        outcome = compare(interval, limit.bound, worse)
        return Verdict(outcome, interval, limit, message=_message(outcome, interval, limit, worse))
    return _verdict(interval, evidence, limit, worse, level)


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
    _check(limit.bound, worse)
    if len(intervals) != len(evidence):
        raise ValueError(
            f"intervals and evidence must be equally long, got {len(intervals)} and {len(evidence)}"
        )
    verdicts = []
    for k, interval in enumerate(intervals):
        if interval is None:
            verdicts.append(Verdict(Outcome.INCONCLUSIVE, None, limit, message=NO_EVIDENCE))
        else:
            verdicts.append(_verdict(interval, evidence[k], limit, worse, level, len(intervals)))
    return verdicts


def more_images_to_decide(
    interval: Interval, bound: float, worse: Direction, n_images: int
) -> int | None:
    """Return about how many more images would decide, if the estimate stayed the same.

    The side of the interval that faces the bound must shrink to the distance between estimate and
    bound; it shrinks with the square root of the number of images.

    .. math:: n (half-width / distance)^2 - n

    >>> more_images_to_decide(Interval(0.2, 0.0, 0.4, 0.95, "exact", 20), 0.3, "higher", 20)
    60
    """
    if n_images < 1:
        raise ValueError(f"n_images must be at least 1, got n_images={n_images!r}")
    if compare(interval, bound, worse) is not Outcome.INCONCLUSIVE:
        return 0
    if worse == "away_from_zero":
        interval = abs(interval)
    estimate = interval.estimate
    half = interval.high - estimate if estimate < bound else estimate - interval.low
    distance = abs(estimate - bound)
    if distance == 0.0 or n_images * (half / distance) ** 2 > MOST_IMAGES:
        return None
    return max(1, math.ceil(round(n_images * ((half / distance) ** 2 - 1.0), 6)))


@lru_cache(maxsize=1024)
def prompt_images_to_decide(
    estimate: float, bound: float, n_images: int, *, prompts: int, level: float
) -> int | None:
    """Return about how many more images would decide a prompt's check, as in ``t2i plan``.

    The number is the smallest with a power of one half if the true score equals the estimate, by
    the exact power of the check among the prompts that share its error level.

    >>> prompt_images_to_decide(0.9, 0.5, 10, prompts=100, level=0.95) > 0
    True
    """
    design = Design(prompts, level)
    total = images_needed(lambda n: prompt_power(estimate, bound, n, design), 0.5)
    return None if total is None else max(1, total - n_images)


KEPT_OPEN = "; alone it would {}, but the evidence{} leaves it open"
"""Why a check is INCONCLUSIVE whose interval leaves the limit out."""


def _and_others(members: int) -> str:
    """Return what else weighs on the evidence, in words."""
    return f" at the one error level of its {members} checks" if members > 1 else " as a whole"


def _verdict(
    interval: Interval,
    evidence: Evidence,
    limit: Limit,
    worse: Direction,
    level: float,
    members: int = 1,
) -> Verdict:
    outcome, by_interval = decide(evidence, level), compare(interval, limit.bound, worse)
    if outcome is not by_interval:
        outcome = Outcome.INCONCLUSIVE
    p_value = evidence.within if outcome is Outcome.PASS else evidence.beyond
    message = _message(by_interval, interval, limit, "lower" if worse == "lower" else "higher")
    if outcome is not by_interval:
        message += KEPT_OPEN.format(by_interval, _and_others(members))
    labelled = None if evidence.labelled is None else decide(Evidence(*evidence.labelled), level)
    return Verdict(outcome, interval, limit, p_value, message=message, labelled=labelled)


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
