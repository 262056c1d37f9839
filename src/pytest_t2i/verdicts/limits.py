"""Where a limit meets a measurement; and the files that limits stand in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_t2i.data import Direction, Interval, Limit, MetricInfo, Outcome, Verdict
from pytest_t2i.errors import ConfigurationError, FileFormatError, UnknownNameError, shown
from pytest_t2i.files import read_toml
from pytest_t2i.metrics.info import INFO
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.check import Check, check_of
from pytest_t2i.verdicts.context import current, settle
from pytest_t2i.verdicts.measurement import Measurement

FILE_NAME = "limits.toml"
HALF = 0.5
"""Where an object comes with both genders alike."""
MARGIN = ".margin"
"""Ends the name of a worsening that is tolerated against a baseline."""


def limit(name: str, bound: float | None = None) -> LimitValue:
    """The limit of this name from the limits file, or the bound given here.

    Comparing a measurement with it is a statistical comparison: PASS where the evidence says that
    it lies within, FAIL where it lies beyond, else INCONCLUSIVE. The metric knows which direction
    is worse; another metric's limit, or an operator that points the other way, is an error.

    Args:
        name: of a limit in the nearest ``limits.toml``, such as ``model_bias_score``.
        bound: the limit itself, where no file shall be asked.

    Returns:
        What a measurement is compared with.

    Raises:
        UnknownNameError: the limits file has no such name, or no metric has it.
        ConfigurationError: there is no limits file, or it is called outside of a running test.

    >>> import pytest
    >>> from pytest_t2i import axes
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_model_bias_score(samples):
    ...     assert samples.model_bias_score <= limit("model_bias_score", 0.2)
    """
    context = current()
    if bound is not None:
        return LimitValue(checked(name, bound, "given in the test"))
    return LimitValue(look_up(name, context.limits, context.limits_file))


@dataclass(slots=True)
class LimitValue:
    """A limit that measurements are compared with."""

    limit: Limit
    check: Check | None = field(default=None, compare=False)
    """What the last comparison with it came to, for the failure text."""

    @property
    def bound(self) -> float:
        """The bound as a number."""
        return self.limit.bound

    def __float__(self) -> float:
        return self.limit.bound

    def judge(self, measurement: Measurement, sign: str) -> bool:
        """See verdicts.measurement.Comparand."""
        check_direction(measurement.metric, self.limit, sign)
        measurement = as_judged(measurement)
        verdict = verdict_of(measurement, self.limit, current().confidence)
        self.check = check_of(current().test, measurement, verdict, sign, "limit")
        return settle(self.check)

    def __repr__(self) -> str:
        return f"limit {self.limit.bound:g}"


def check_direction(metric: MetricInfo, limit: Limit, sign: str) -> None:
    """Refuse another metric's limit, and an operator that points away from what is better.

    Raises ConfigurationError that says the right line.
    """
    if metric_of(limit.metric).name != metric.name:
        raise ConfigurationError(
            f"{metric.name} was compared with limit({limit.metric!r}), which is a limit on "
            f"{metric_of(limit.metric).name}. Compare it with limit({metric.name!r}, ...)"
        )
    right = sign_of(metric)
    if not sign.startswith(right[0]):
        raise ConfigurationError(
            f"of {metric.name} {WORSE[metric.worse]}: write `{metric.name} {right} "
            f"limit({limit.metric!r}, {limit.bound:g})`, got {sign}"
        )


WORSE = {
    "higher": "higher is worse",
    "lower": "lower is worse",
    "away_from_zero": "away from zero is worse",
    "away_from_half": "away from 0.5 is worse",
}


def sign_of(metric: MetricInfo) -> str:
    """The operator by which a measurement of this metric is within its limit."""
    return ">=" if metric.worse == "lower" else "<="


def direction_of(metric: MetricInfo) -> Direction:
    """Which direction is worse of a measurement as it is judged, an absolute value maybe."""
    return "lower" if metric.worse == "lower" else "higher"


def as_judged(measurement: Measurement) -> Measurement:
    """The measurement itself, or folded where away from zero or from 0.5 is worse."""
    if measurement.metric.worse == "away_from_half":
        return replace(measurement, interval=_folded(measurement.interval))
    return abs(measurement) if measurement.metric.worse == "away_from_zero" else measurement


def _folded(interval: Interval | None) -> Interval | None:
    """Of max(x, 1 - x): what lies below 0.5 is laid over what lies above."""
    if interval is None:
        return None
    ends = sorted((abs(interval.low - HALF), abs(interval.high - HALF)))
    low = 0.0 if HALF in interval else ends[0]
    estimate = HALF + abs(interval.estimate - HALF)
    return replace(interval, estimate=estimate, low=HALF + low, high=HALF + ends[1])


def verdict_of(measurement: Measurement, limit: Limit, level: float) -> Verdict:
    """Interval against limit; many prompts tested at once share one error level."""
    measurement = as_judged(measurement)
    worse = direction_of(measurement.metric)
    if measurement.family is not None:
        verdict = measurement.family.verdicts(limit, worse, level)[measurement.place]
    else:
        evidence = None
        if measurement.evidence is not None and measurement.interval is not None:
            evidence = measurement.evidence(limit.bound, level)
        verdict = judge.judge(measurement.interval, limit, worse, evidence=evidence, level=level)
    if verdict.interval is None:
        return replace(verdict, message=measurement.absent)
    if never_beyond(measurement.metric, limit.bound):
        return replace(verdict, outcome=Outcome.PASS, p_value=0.0, message=NEVER_BEYOND)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        verdict = replace(verdict, images_to_decide=_images_to_decide(measurement, limit, level))
    return judge.open_if_undetected(verdict, measurement.worst_case)


NEVER_BEYOND = "the limit lies at the end of what the metric can be: nothing lies beyond it"


def never_beyond(metric: MetricInfo, bound: float) -> bool:
    """Whether no value of the metric is worse than the bound: a test that cannot fail.

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
    worse = direction_of(measurement.metric)
    return judge.images_to_decide(interval, limit.bound, worse, images) or None


# files


@dataclass(slots=True)
class LimitFiles:
    """The one door to limits: each file is read once."""

    root: Path
    """Where the search for a file ends."""
    given: Path | None = None
    """--t2i-limits; None takes the nearest file of a test."""
    _read: dict[Path, dict[str, Limit]] = field(default_factory=dict)

    def of(self, test_file: Path) -> tuple[dict[str, Limit], Path | None]:
        """The limits of a test, and the file they stand in."""
        file = self.given or nearest_limits_file(test_file, self.root)
        if file is None:
            return {}, None
        if file not in self._read:
            self._read[file] = read_limits(file)
        return self._read[file], file

    def look_up(self, name: str, test_file: Path) -> Limit:
        """The limit of this name for a test; UnknownNameError says where it was looked for."""
        return look_up(name, *self.of(test_file))


def look_up(name: str, limits: Mapping[str, Limit], file: Path | None) -> Limit:
    """The limit of this name; UnknownNameError says where it was looked for."""
    if not limits and file is None:
        raise ConfigurationError(f"limit {name!r} is not known. {NO_FILE}")
    if name not in limits:
        raise UnknownNameError("limit", name, limits, f"It is looked up in {file}.")
    return limits[name]


NO_FILE = (
    "There is no limits.toml beside or above the test: write one, such as\n"
    "    [model_bias_score]\n    limit = 0.2\n"
    "or pass --t2i-limits FILE."
)


def read_limits(path: Path) -> dict[str, Limit]:
    """Limits of one TOML file by name; ``[similarity_gap.image]`` is ``similarity_gap.image``.

    A value is a number, or a table of limit and reason. FileFormatError names the key.
    """
    limits: dict[str, Limit] = {}
    _collect(path, read_toml(path), "", limits)
    return limits


def _collect(path: Path, table: Mapping[str, Any], prefix: str, limits: dict[str, Limit]) -> None:
    for key, value in table.items():
        name = f"{prefix}{key}"
        inner = value if isinstance(value, dict) else {"limit": value}
        if "limit" in inner:
            try:
                limits[name] = checked(name, inner["limit"], inner.get("reason", ""))
            except ConfigurationError as error:
                raise FileFormatError(path, str(error), where=f"key {name!r}") from None
        rest = {k: v for k, v in inner.items() if k not in ("limit", "reason")}
        if "limit" not in inner and not rest:
            raise FileFormatError(path, "expected a table with a limit.", where=f"key {name!r}")
        _collect(path, rest, f"{name}.", limits)


def checked(name: str, bound: Any, reason: str) -> Limit:
    """A limit whose metric exists and whose bound the metric can reach."""
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise ConfigurationError(f"expected a number as limit {name!r}, got {shown(bound)}")
    info = metric_of(name)
    if name.endswith(MARGIN):
        if not 0 <= bound < float("inf"):
            raise ConfigurationError(f"a margin is at least 0, got {name}={bound}")
    elif not info.low <= bound <= info.high:
        raise ConfigurationError(
            f"limit {name!r}: {info.name} lies between {info.low:g} and {info.high:g}, got {bound}"
        )
    if not isinstance(reason, str):
        raise ConfigurationError(f"expected a text as reason of {name!r}, got {shown(reason)}")
    return Limit(name, float(bound), reason)


def metric_of(name: str) -> MetricInfo:
    """The metric that a limit's name begins with."""
    base = name.partition(".")[0]
    if base not in INFO:
        raise UnknownNameError("limit", name, INFO)
    return INFO[base]


def nearest_limits_file(test_file: Path, root: Path) -> Path | None:
    """limits.toml beside the test or in the nearest folder above it, up to the root."""
    for folder in [test_file.parent, *test_file.parent.parents]:
        candidate = folder / FILE_NAME
        if candidate.is_file():
            return candidate
        if folder == root:
            return None
    return None
