"""From a measurement and a limit to a verdict, by the evidence alone."""

from __future__ import annotations

from dataclasses import replace

from pytest_t2i.data import Limit, MetricInfo, Outcome, Verdict
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.images_to_decide import more_images
from pytest_t2i.verdicts.measurement import Measurement


def as_judged(measurement: Measurement) -> Measurement:
    """Return the measurement, folded where away from zero or from 0.5 is worse."""
    if measurement.metric.worse == "away_from_half" and measurement.interval is not None:
        return replace(measurement, interval=judge.folded(measurement.interval, "away_from_half"))
    return abs(measurement) if measurement.metric.worse == "away_from_zero" else measurement


def verdict_of(measurement: Measurement, limit: Limit, level: float) -> Verdict:
    """Return the verdict on a measurement; members of a family share one error level."""
    measurement = as_judged(measurement)
    verdict = by_evidence(measurement, limit, level)
    if verdict.interval is None:
        return replace(verdict, message=measurement.absent)
    if never_beyond(measurement.metric, limit.bound):
        return replace(verdict, outcome=Outcome.PASS, p_value=0.0, message=NEVER_BEYOND)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        verdict = replace(verdict, images_to_decide=more_images(measurement, limit.bound, level))
    return verdict


def by_evidence(measurement: Measurement, limit: Limit, level: float) -> Verdict:
    """Return the verdict by the evidence alone, of a measurement as judged."""
    if measurement.family is not None:
        worse = measurement.metric.worse
        return measurement.family.verdicts(limit, worse, level)[measurement.place]
    worse = "lower" if measurement.metric.worse == "lower" else "higher"
    evidence = None
    if measurement.evidence is not None and measurement.interval is not None:
        evidence = measurement.evidence(limit.bound, level)
    return judge.judge(measurement.interval, limit, worse, evidence=evidence, level=level)


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
