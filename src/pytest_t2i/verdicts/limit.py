"""Limits in tests: the comparison of a measurement with a limit, and its verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter

from pytest_t2i.data import (
    MANY_UNDETECTED,
    Bounds,
    Direction,
    Limit,
    MetricInfo,
    Outcome,
    Verdict,
)
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.certificate import CertifiedCase, CertifiedErrors
from pytest_t2i.verdicts.check import Check, check_of, current, record_check
from pytest_t2i.verdicts.limits_file import look_up, metric_of_limit, with_bound
from pytest_t2i.verdicts.measurement import Measurement, Sign
from pytest_t2i.verdicts.run_level import at_run_level, held_open


def open_if_undetected(verdict: Verdict, worst_case: Bounds | None) -> Verdict:
    """Return the verdict; an INCONCLUSIVE for lack of labels gets a message with what helps.

    Labels are the cause where the labelled images alone would decide, or where more than one image
    in five is undetected (``data.MANY_UNDETECTED``) and the worst-case bounds lie on both sides of
    the limit. The evidence holds for any labels of the undetected images: a PASS or FAIL is never
    changed.

    >>> from pytest_t2i.data import Evidence, Interval, Limit
    >>> seen, limit = Interval(1.0, 0.8, 1.0, 0.95, "test", 18), Limit("x", 0.5)
    >>> evidence = Evidence(0.09, 1.0, labelled=(0.006, 1.0))
    >>> from pytest_t2i.verdicts.judge import judge
    >>> verdict = judge(seen, limit, "higher", evidence=evidence)
    >>> open_if_undetected(verdict, Bounds(0.8, 1.0, 0.1)).hangs_on_undetected
    True
    """
    alone = verdict.labelled
    if verdict.outcome is not Outcome.INCONCLUSIVE or alone is None or worst_case is None:
        return verdict
    bound, share = verdict.limit.bound, worst_case.undetected
    both_sides = worst_case.leave_open(bound)
    if alone is Outcome.INCONCLUSIVE and not (both_sides and share > MANY_UNDETECTED):
        return verdict
    message = f"{share:.0%} of the images are undetected"
    if alone is not Outcome.INCONCLUSIVE:
        message = f"The labelled images alone would {alone}, but {message}"
    if both_sides:
        message += (
            f": whatever they show, the score of these images lies at {worst_case}, on both sides "
            f"of {bound:g}. More images would not decide while so many are undetected; a detector "
            "that labels more of them, or people, would"
        )
    else:
        message += (
            ", and with the labels least favourable to that outcome the evidence is too weak. A "
            "detector that labels more of them, people's labels, or more images would decide"
        )
    return replace(verdict, images_to_decide=None, message=message, hangs_on_undetected=True)


UNJUDGED = "too many pictures repeat for a verdict on {}"


def limit(name: str, bound: float | None = None, *, reason: str = "") -> LimitValue:
    """Return the limit of this name from the limits file, or with the given bound.

    Comparing a measurement with it is a statistical comparison: PASS where the evidence shows that
    the score lies within, FAIL where it shows that the score lies beyond, else INCONCLUSIVE. The
    metric defines which direction is worse; another metric's limit, or an operator that points the
    other way, is an error.

    Args:
        name: name of a limit in the nearest ``limits.toml``, such as ``model_bias_score``.
        bound: bound of the limit; None takes the limits file. Where the file has a limit of this
            name, both must be equal, and its reason and author hold.
        reason: reason for the given bound, for reports; a limits file has its own.

    Returns:
        The limit, to compare a measurement with.

    Raises:
        UnknownNameError: the limits file has no such name, or no metric has it.
        ConfigurationError: there is no limits file, no test is running, a reason is given
            without a bound, or the limits file has another bound of this name.

    >>> import pytest
    >>> from pytest_t2i import axes
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_model_bias_score(samples):
    ...     assert samples.model_bias_score <= limit("model_bias_score", 0.2)
    """
    context = current()
    if bound is not None:
        return LimitValue(with_bound(name, bound, reason, context.limits, context.limits_file))
    if reason:
        raise ConfigurationError(
            f"limit({name!r}, reason=...): a reason needs a bound beside it. The reason for a "
            "limit of the limits file stands in that file"
        )
    return LimitValue(look_up(name, context.limits, context.limits_file))


@dataclass(slots=True)
class LimitValue:
    """A limit that measurements are compared with."""

    limit: Limit
    check: Check | None = field(default=None, compare=False)
    """Check of the last comparison with this limit, for the failure text."""

    @property
    def bound(self) -> float:
        """The bound as a number."""
        return self.limit.bound

    def __float__(self) -> float:
        return self.limit.bound

    def judge(self, measurement: Measurement, sign: Sign) -> bool:
        """Reach a verdict, record it, and tell whether the test goes on."""
        check_operator(measurement.metric, self.limit.metric, sign, self.bound)
        measurement = as_judged(measurement)
        if because := current().open_because(measurement):
            measurement = measurement.without_evidence(because)
        if measurement.despite_repeats:
            unjudged = UNJUDGED.format(measurement.despite_repeats)
            remark = f"{unjudged}: the evidence holds whatever they show"
            measurement = replace(measurement, remarks=(*measurement.remarks, remark))
        level = current().confidence
        verdict, held = at_run_level(
            verdict_of(measurement, self.limit, level),
            attrgetter("outcome"),
            current().share,
            partial(verdict_of, measurement, self.limit),
            level,
        )
        verdict = held_open(verdict, held)
        check = check_of(current().test, measurement, verdict, sign, "limit")
        if (errors := current().certified(measurement)) is not None:
            case = _certified_case(measurement, self.limit, verdict, errors, level)
            check = replace(check, by_certificate=case)
        self.check = current().with_looks(check)
        return record_check(self.check, measurement.compared)

    def __repr__(self) -> str:
        return f"limit {self.limit.bound:g}"


def check_operator(metric: MetricInfo, limit: str, sign: str, bound: float | None = None) -> None:
    """Raise ConfigurationError for another metric's limit, or an operator that points away."""
    if metric_of_limit(limit).name != metric.name:
        raise ConfigurationError(
            f"{metric.name} was compared with limit({limit!r}), which is a limit on "
            f"{metric_of_limit(limit).name}. Compare it with limit({metric.name!r}, ...)"
        )
    right = operator_of(metric)
    if not sign.startswith(right[0]):
        raise ConfigurationError(
            f"for {metric.name}, {WORSE[metric.worse]}: write `{metric.name} {right} "
            f"limit({limit!r}{'' if bound is None else f', {bound:g}'})`, got {sign}"
        )


WORSE = {
    "higher": "higher is worse",
    "lower": "lower is worse",
    "away_from_zero": "away from zero is worse",
    "away_from_half": "away from 0.5 is worse",
}


def operator_of(metric: MetricInfo) -> str:
    """Return the operator with which a measurement of this metric lies within its limit."""
    return ">=" if metric.worse == "lower" else "<="


def _direction_of(metric: MetricInfo) -> Direction:
    """Return the worse direction of a measurement as judged, possibly of its absolute value."""
    return "lower" if metric.worse == "lower" else "higher"


def as_judged(measurement: Measurement) -> Measurement:
    """Return the measurement, folded where away from zero or from 0.5 is worse."""
    if measurement.metric.worse == "away_from_half" and measurement.interval is not None:
        return replace(measurement, interval=judge.folded(measurement.interval, "away_from_half"))
    return abs(measurement) if measurement.metric.worse == "away_from_zero" else measurement


def verdict_of(measurement: Measurement, limit: Limit, level: float) -> Verdict:
    """Return the verdict on a measurement; members of a family share one error level."""
    measurement = as_judged(measurement)
    verdict = _by_evidence(measurement, limit, level)
    if verdict.interval is None:
        worst_case = measurement.worst_case
        hangs = worst_case is not None and worst_case.leave_open(limit.bound)
        return replace(verdict, message=measurement.absent, hangs_on_undetected=hangs)
    if never_beyond(measurement.metric, limit.bound):
        return replace(verdict, outcome=Outcome.PASS, p_value=0.0, message=NEVER_BEYOND)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        verdict = replace(verdict, images_to_decide=_images_to_decide(measurement, limit, level))
    verdict = open_if_undetected(verdict, measurement.worst_case)
    if measurement.despite_repeats and verdict.outcome is Outcome.INCONCLUSIVE:
        names = UNJUDGED.format(measurement.despite_repeats)
        return replace(
            verdict, message=f"{names}, and they could turn the verdict. {verdict.message}"
        )
    return verdict


def _by_evidence(measurement: Measurement, limit: Limit, level: float) -> Verdict:
    """Return the verdict by the evidence alone, of a measurement as judged."""
    if measurement.family is not None:
        worse = measurement.metric.worse
        return measurement.family.verdicts(limit, worse, level)[measurement.place]
    worse = _direction_of(measurement.metric)
    evidence = None
    if measurement.evidence is not None and measurement.interval is not None:
        evidence = measurement.evidence(limit.bound, level)
    return judge.judge(measurement.interval, limit, worse, evidence=evidence, level=level)


FINEST = 100
"""Steps of a bound from 0 to 1: members of a family share the evidence at equal bounds."""


def _certified_case(
    measurement: Measurement,
    limit: Limit,
    verdict: Verdict,
    errors: CertifiedErrors,
    level: float,
) -> CertifiedCase:
    """Return what a verdict on an absolute bias score comes to at a detector's certified errors.

    The verdict holds where the labels have it at the bound that is hardest for it: pictures within
    the limit whose labels are as far out as the errors allow, and the other way round.
    """
    measurement, rates = as_judged(measurement), errors.rates
    if measurement.interval is None:
        return CertifiedCase(None, None, verdict.outcome, False, errors.basis)
    low, high = rates.moved(measurement.interval.low, measurement.interval.high)
    within, beyond = rates.bounds_on_labels(limit.bound)
    within, beyond = math.floor(within * FINEST) / FINEST, math.ceil(beyond * FINEST) / FINEST
    hardest = within if verdict.outcome is Outcome.PASS else beyond
    outcome = verdict.outcome
    is_decided = outcome in {Outcome.PASS, Outcome.FAIL}
    if is_decided and not never_beyond(measurement.metric, limit.bound):
        holds = 0.0 <= hardest <= 1.0 and not rates.say_nothing
        if holds:
            moved = replace(limit, bound=hardest)
            holds = _by_evidence(measurement, moved, level).outcome is outcome
        outcome = outcome if holds else Outcome.INCONCLUSIVE
    return CertifiedCase(low, high, outcome, outcome is not verdict.outcome, errors.basis)


NEVER_BEYOND = "the limit lies at the end of the metric's range: no value can lie beyond it"


def never_beyond(metric: MetricInfo, bound: float) -> bool:
    """Tell whether no value of the metric is worse than the bound, so that a test cannot fail.

    >>> from pytest_t2i.metrics.info import INFO
    >>> never_beyond(INFO["model_bias_score"], 1.0), never_beyond(INFO["accuracy"], 0.5)
    (True, False)
    """
    if metric.worse == "lower":
        return bound <= metric.low
    reach = max(-metric.low, metric.high) if metric.worse == "away_from_zero" else metric.high
    return bound >= reach


def _images_to_decide(measurement: Measurement, limit: Limit, level: float) -> int | None:
    interval, images = measurement.interval, measurement.images
    if interval is None or not images:
        return None
    if measurement.family is not None and measurement.name == "prompt_bias_score":
        return judge.prompt_images_to_decide(
            abs(interval.estimate),
            limit.bound,
            images,
            prompts=len(measurement.family),
            level=level,
        )
    worse = _direction_of(measurement.metric)
    return judge.more_images_to_decide(interval, limit.bound, worse, images) or None
