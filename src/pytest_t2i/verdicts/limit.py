"""Limits in tests: the comparison of a measurement with a limit, and its verdict."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_t2i.data import Limit, MetricInfo
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.verdicts.check import Check, checked, current, record_check
from pytest_t2i.verdicts.judge_measurement import as_judged, verdict_of
from pytest_t2i.verdicts.limits_file import look_up, metric_of_limit, with_bound
from pytest_t2i.verdicts.measurement import Measurement, Sign
from pytest_t2i.verdicts.reach_verdict import Found


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
        self.check = checked(
            as_judged(measurement),
            "limit",
            self.bound,
            sign,
            lambda judged, level: Found(verdict_of(judged, self.limit, level)),
        )
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
