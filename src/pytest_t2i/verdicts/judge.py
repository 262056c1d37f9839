"""From evidence and a limit to PASS, FAIL or INCONCLUSIVE.

A test fails on evidence only: FAIL where the truth is shown to lie beyond the limit, PASS where it
is shown to lie within, each at the one-sided level; else, and where there is nothing at all, the
outcome is INCONCLUSIVE.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from pytest_t2i.data import Direction, Evidence, Interval, Limit, Outcome, Verdict
from pytest_t2i.statistics.families.empirical_bayes import leaning
from pytest_t2i.statistics.planning.power import Design, images_needed, prompt_power

NO_EVIDENCE = "no evidence: there was nothing to measure"
ROUNDING = 1e-12
"""1 - 0.95 is a little more than 0.05 in binary."""
# Beyond this an advice to make more images is none; the estimate as good as sits on the bound.
MOST_IMAGES = 10_000_000


def compare(interval: Interval, bound: float, worse: Direction) -> Outcome:
    """Where an interval lies relative to a bound.

    Args:
        interval: what was measured.
        bound: "higher": the largest good value; "lower": the smallest; "away_from_zero": the
            largest good absolute value.
        worse: which direction is worse.

    Returns:
        PASS when the whole interval is within the bound, FAIL when all of it is beyond, else
        INCONCLUSIVE.

    Raises:
        ValueError: worse is unknown, or the bound is negative with "away_from_zero".

    >>> compare(Interval(0.3, 0.2, 0.4, 0.95, "wilson", 20), 0.5, "higher").value
    'PASS'
    """
    _check(bound, worse)
    if worse == "away_from_zero":
        interval, worse = abs(interval), "higher"
    low, high = interval.low, interval.high
    if worse == "lower":
        low, high, bound = -high, -low, -bound
    if high <= bound:
        return Outcome.PASS
    return Outcome.FAIL if low > bound else Outcome.INCONCLUSIVE


def decide(evidence: Evidence, level: float) -> Outcome:
    """The outcome that one-sided evidence allows at a level.

    >>> decide(Evidence(beyond=0.8, within=0.03), 0.95).value
    'PASS'
    >>> decide(Evidence(beyond=0.3, within=0.2), 0.95).value
    'INCONCLUSIVE'
    """
    error = 1.0 - level + ROUNDING
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
    """Verdict on one measurement.

    Args:
        interval: what was measured; None when there was no evidence.
        limit: the bound and what it is for.
        worse: which direction is worse (``metrics.INFO[limit.metric].worse``).
        evidence: one-sided p-values against the limit; None lets the interval's ends decide.
        level: one-sided confidence level of the verdict.

    Returns:
        The verdict with its evidence.

    Raises:
        ValueError: worse is unknown, or the bound is negative with "away_from_zero".

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
    leans: Sequence[float] | None = None,
) -> list[Verdict]:
    """Verdicts on many measurements that share one error level.

    Args:
        intervals: what was measured of each; None where there was no evidence.
        evidence: of each; ``beyond`` is adjusted for their number already.
        limit: the bound that holds for each.
        worse: which direction is worse.
        level: confidence level; the false discovery rate of FAILs is 1 - level.
        leans: probability of each that it lies beyond the limit; None where none is known.

    Returns:
        One verdict for each, in order: FAIL where the adjusted p-value is at most 1 - level, PASS
        where its own evidence lies within the limit, else INCONCLUSIVE, with its lean.

    Raises:
        ValueError: lengths differ.

    >>> fair = Interval(0.0, 0.0, 0.2, 0.95, "blaker", 40)
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
            verdicts.append(_verdict(interval, evidence[k], limit, worse, level))
    return verdicts if leans is None else _with_leans(verdicts, leans)


def _with_leans(verdicts: list[Verdict], leans: Sequence[float]) -> list[Verdict]:
    """Inconclusive verdicts with where they lean."""
    inconclusive = [k for k, v in enumerate(verdicts) if v.outcome is Outcome.INCONCLUSIVE]
    named = dict(zip(inconclusive, leaning([leans[k] for k in inconclusive]), strict=True))
    return [
        replace(verdict, lean=leans[k], leaning=named[k]) if k in named else verdict
        for k, verdict in enumerate(verdicts)
    ]


def images_to_decide(
    interval: Interval, bound: float, worse: Direction, n_images: int
) -> int | None:
    """About how many more images would decide, if the estimate stayed where it is.

    The side of the interval that faces the bound has to shrink to the distance between estimate
    and bound; it shrinks with the square root of the number of images.

    .. math:: n (half-width / distance)^2 - n

    Args:
        interval: what was measured.
        bound: as in ``compare``.
        worse: which direction is worse.
        n_images: images behind the interval, at least 1.

    Returns:
        Further images, at least 1; 0 when it is decided already; None when the estimate sits
        on the bound, where no number would do.

    Raises:
        ValueError: n_images is below 1, or the bound does not fit the direction.

    >>> images_to_decide(Interval(0.2, 0.0, 0.4, 0.95, "wilson", 20), 0.3, "higher", 20)
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
    """About how many more images would decide a prompt's check, as ``t2i plan`` counts them.

    The fewest that have an even chance of a verdict if the truth is where the estimate is, by the
    exact power of the check among the prompts that share its error level.

    Args:
        estimate: absolute prompt bias score that was measured.
        bound: its limit, in [0, 1].
        n_images: clear images that were made.
        prompts: prompts tested at once.
        level: confidence level in (0, 1).

    Returns:
        Further images, at least 1; None when 2000 images would not do.

    >>> prompt_images_to_decide(0.9, 0.5, 10, prompts=100, level=0.95) > 0
    True
    """
    design = Design(prompts, level)
    wanted = images_needed(lambda n: prompt_power(estimate, bound, n, design), 0.5)
    return None if wanted is None else max(1, wanted - n_images)


def _verdict(
    interval: Interval, evidence: Evidence, limit: Limit, worse: Direction, level: float
) -> Verdict:
    outcome = decide(evidence, level)
    p_value = evidence.within if outcome is Outcome.PASS else evidence.beyond
    message = _message(outcome, interval, limit, worse)
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
    if worse not in {"higher", "lower", "away_from_zero"}:
        raise ValueError(f"worse must be higher, lower or away_from_zero, got worse={worse!r}")
    if not math.isfinite(bound) or (worse == "away_from_zero" and bound < 0.0):
        raise ValueError(f"bound must be finite and not negative here, got bound={bound!r}")
