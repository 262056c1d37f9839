"""From an interval and a limit to PASS, FAIL or INCONCLUSIVE.

A test fails on evidence only: where the interval neither lies within the limit nor outside it,
or where there is no interval at all, the outcome is INCONCLUSIVE.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from pytest_t2i.data import Bounds, Direction, Interval, Limit, Outcome, Verdict
from pytest_t2i.statistics.multiplicity import benjamini_hochberg
from pytest_t2i.statistics.power import Design, images_needed, prompt_power
from pytest_t2i.statistics.shares import check_level

NO_EVIDENCE = "no evidence: there was nothing to measure"
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


def judge(
    interval: Interval | None,
    limit: Limit,
    worse: Direction,
    *,
    n_images: int | None = None,
    p_value: float | None = None,
) -> Verdict:
    """Verdict on one measurement.

    Args:
        interval: what was measured; None when there was no evidence.
        limit: the bound and what it is for.
        worse: which direction is worse (``metrics.INFO[limit.metric].worse``).
        n_images: images behind the interval; given, an INCONCLUSIVE says how many would decide.
        p_value: evidence against the limit, kept for the report.

    Returns:
        The verdict with its evidence.

    Raises:
        ValueError: worse is unknown, or the bound is negative with "away_from_zero".

    >>> judge(None, Limit("model_bias_score", 0.3), "higher").outcome.value
    'INCONCLUSIVE'
    """
    _check(limit.bound, worse)
    if interval is None:
        return Verdict(Outcome.INCONCLUSIVE, None, limit, p_value, message=NO_EVIDENCE)
    outcome = compare(interval, limit.bound, worse)
    return _verdict(outcome, interval, limit, worse, p_value, n_images)


def judge_family(
    intervals: Sequence[Interval | None],
    p_values: Sequence[float | None],
    limit: Limit,
    worse: Direction,
    *,
    level: float,
    n_images: Sequence[int] | None = None,
) -> list[Verdict]:
    """Verdicts on many prompts that share one error level (Benjamini-Hochberg).

    Args:
        intervals: what was measured per prompt; None where there was no evidence.
        p_values: evidence per prompt against "the true value lies within the limit"; None where
            there was none.
        limit: the bound that holds for each.
        worse: which direction is worse.
        level: confidence level; the false discovery rate is 1 - level.
        n_images: images per prompt, to say how many would decide.

    Returns:
        One verdict per prompt, in order: FAIL where the adjusted p-value is at most 1 - level,
        PASS where the prompt's own interval lies within the limit, else INCONCLUSIVE. Each
        carries the adjusted p-value.

    Raises:
        ValueError: lengths differ, a p-value lies outside [0, 1], or level outside (0, 1).

    >>> fair = Interval(0.0, -0.4, 0.4, 0.95, "clopper-pearson", 20)
    >>> limit = Limit("prompt_bias_score", 0.5)
    >>> [v.outcome.value for v in judge_family([fair, None], [1.0, None], limit,
    ...                                        "away_from_zero", level=0.95)]
    ['PASS', 'INCONCLUSIVE']
    """
    check_level(level)
    _check(limit.bound, worse)
    images: Sequence[int | None] = [None] * len(intervals) if n_images is None else n_images
    if not len(intervals) == len(p_values) == len(images):
        raise ValueError(
            "intervals, p_values and n_images must be equally long, "
            f"got {len(intervals)}, {len(p_values)} and {len(images)}"
        )
    verdicts = []
    for interval, p, n in zip(intervals, adjust(p_values), images, strict=True):
        if interval is None and p is None:
            verdicts.append(Verdict(Outcome.INCONCLUSIVE, None, limit, message=NO_EVIDENCE))
            continue
        outcome = _outcome_in_family(interval, p, limit, worse, level)
        verdicts.append(_verdict(outcome, interval, limit, worse, p, n))
    return verdicts


def adjust(p_values: Sequence[float | None]) -> list[float | None]:
    """Benjamini-Hochberg over the p-values there are; None stays None.

    >>> adjust([0.01, None, 0.5])
    [0.02, None, 0.5]
    """
    known = iter(benjamini_hochberg([p for p in p_values if p is not None]).tolist())
    return [None if p is None else float(next(known)) for p in p_values]


def judge_regression(
    change: Interval | None, metric: str, margin: float, *, n_images: int | None = None
) -> Verdict:
    """Verdict on a change against a baseline.

    Args:
        change: measured worsening (above 0 is worse), as from ``paired_model_bias_change``; its
            level is the confidence asked for. None when nothing could be compared.
        metric: name of the metric that changed.
        margin: worsening that is tolerated, at least 0.
        n_images: images behind the change, to say how many would decide.

    Returns:
        FAIL when the whole interval lies above the margin, PASS when it ends at or below it,
        else INCONCLUSIVE.

    Raises:
        ValueError: the margin is negative.

    >>> change = Interval(0.3, 0.2, 0.4, 0.95, "cluster-bootstrap", 100)
    >>> judge_regression(change, "model_bias_score", 0.05).outcome.value
    'FAIL'
    """
    if margin < 0.0:
        raise ValueError(f"margin must not be negative, got margin={margin!r}")
    limit = Limit(metric, margin, "largest worsening tolerated against the baseline")
    return judge(change, limit, "higher", n_images=n_images)


def open_if_undetected(verdict: Verdict, worst_case: Bounds | None) -> Verdict:
    """The verdict, or INCONCLUSIVE where it would hang on images that nobody labelled.

    That is so when more than 20 % of the images are undetected (``data.MOST_UNDETECTED``) and the
    worst-case bounds lie on both sides of the limit: then what the undetected show decides,
    however narrow the interval of the others.

    Args:
        verdict: by the interval alone.
        worst_case: as from ``statistics.worst_case_bounds``; None where nothing is undetected.

    Returns:
        The verdict, or an INCONCLUSIVE whose message says why; no number of images would decide
        it, since their undetected share would stay.

    >>> sure = judge(Interval(0.9, 0.7, 1.0, 0.95, "test", 12), Limit("x", 0.5), "higher")
    >>> open_if_undetected(sure, Bounds(0.36, 1.0, 0.4)).outcome.value
    'INCONCLUSIVE'
    """
    if worst_case is None or not worst_case.leave_open(verdict.limit.bound):
        return verdict
    message = (
        f"{worst_case.undetected:.0%} of the images are undetected: whatever they show, the score "
        f"of these images lies at {worst_case}, on both sides of {verdict.limit.bound:g}. More "
        "images would not decide; a detector that labels more of them, or people, would"
    )
    return replace(verdict, outcome=Outcome.INCONCLUSIVE, images_to_decide=None, message=message)


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

    >>> prompt_images_to_decide(0.9, 0.5, 10, prompts=100, level=0.95)
    33
    """
    design = Design(prompts, level)
    wanted = images_needed(lambda n: prompt_power(estimate, bound, n, design), 0.5)
    return None if wanted is None else max(1, wanted - n_images)


def _outcome_in_family(
    interval: Interval | None, p: float | None, limit: Limit, worse: Direction, level: float
) -> Outcome:
    # The small tolerance is for 1 - 0.95, which is a little more than 0.05 in binary.
    if p is not None and p <= 1.0 - level + 1e-12:
        return Outcome.FAIL
    if interval is not None and compare(interval, limit.bound, worse) is Outcome.PASS:
        return Outcome.PASS
    return Outcome.INCONCLUSIVE


def _verdict(
    outcome: Outcome, interval: Interval | None, limit: Limit, worse: Direction,
    p_value: float | None, n_images: int | None,
) -> Verdict:  # fmt: skip
    more = None
    if outcome is Outcome.INCONCLUSIVE and interval is not None and n_images:
        more = images_to_decide(interval, limit.bound, worse, n_images) or None
    message = "" if interval is None else _message(outcome, interval, limit, worse)
    return Verdict(outcome, interval, limit, p_value, more, message)


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
