"""Limits: absolute bounds on metrics, read from limits.toml, compared with evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_t2i.data import Direction, Limit, MetricInfo, Outcome, Verdict
from pytest_t2i.errors import ConfigurationError, FileFormatError, UnknownNameError
from pytest_t2i.files import read_toml
from pytest_t2i.runs.record import Check
from pytest_t2i.verdicts.measurement import Measurement


@dataclass(slots=True)
class Bench:
    """What a running test is judged by."""

    test: str
    """Node id."""
    limits: Mapping[str, Limit]
    limits_file: Path | None
    inconclusive: str
    """What an inconclusive comparison does: pass, fail, estimate."""
    confidence: float
    record: Callable[[Check], None]
    last: Check | None = None
    remarks: tuple[str, ...] = field(default=())


active: ContextVar[Bench | None] = ContextVar("active", default=None)


def bench() -> Bench:
    """The running test's bench; ConfigurationError outside a t2i test."""
    found = active.get()
    if found is None:
        raise ConfigurationError(
            "limit() was called outside a running t2i test: call it inside the test function, and "
            "mark the test with @pytest.mark.t2i(...)"
        )
    return found


def limit(name: str, bound: float | None = None) -> LimitValue:
    """The limit of this name from the limits file, or the bound given here.

    Comparing a measurement with it is a statistical comparison: PASS when the interval lies
    within, FAIL when the evidence is against it, else INCONCLUSIVE.

    Raises UnknownNameError when the limits file has no such name.
    """
    here = bench()
    if bound is not None:
        return LimitValue(checked(name, bound, "given in the test"))
    return LimitValue(look_up(name, here.limits, here.limits_file))


def look_up(name: str, limits: Mapping[str, Limit], file: Path | None) -> Limit:
    """The limit of this name; UnknownNameError says where it was looked for."""
    if not limits and file is None:
        raise ConfigurationError(f"limit {name!r} is not known. {NO_FILE}")
    if name not in limits:
        where = f"It is looked up in {file}."
        raise UnknownNameError("limit", name, limits, where)
    return limits[name]


NO_FILE = (
    "There is no limits.toml beside or above the test: write one, such as\n"
    "    [model_bias_score]\n    limit = 0.2\n"
    "or pass --t2i-limits FILE."
)


@dataclass(frozen=True, slots=True)
class LimitValue:
    """A limit that measurements are compared with."""

    limit: Limit

    @property
    def bound(self) -> float:
        """The bound as a number."""
        return self.limit.bound

    def __float__(self) -> float:
        return self.limit.bound

    def judge(self, measurement: Measurement, operator: str) -> bool:
        """See measurement.Judge."""
        verdict = verdict_of(measurement, self.limit, operator, bench().confidence)
        return settle(measurement, verdict, operator, against="limit")

    def __repr__(self) -> str:
        return f"limit {self.limit.bound:g}"


def verdict_of(measurement: Measurement, limit: Limit, operator: str, confidence: float) -> Verdict:
    """Interval against limit; many prompts tested at once share one error level."""
    from pytest_t2i.verdicts import judge as verdicts

    worse: Direction = "higher" if operator.startswith("<") else "lower"
    family = measurement.family(limit.bound) if measurement.family and worse == "higher" else None
    if family is not None:
        verdict = verdicts.judge_family(
            family.intervals, family.p_values, limit, worse, level=confidence
        )[family.place]
    else:
        verdict = verdicts.judge(measurement.interval, limit, worse)
    if verdict.interval is None:
        return replace(verdict, message=measurement.absent)
    if verdict.outcome is Outcome.INCONCLUSIVE and measurement.images:
        if family is not None and measurement.name == "prompt_bias_score":
            more = verdicts.prompt_images_to_decide(
                abs(verdict.interval.estimate), limit.bound, measurement.images,
                prompts=len(family.intervals), level=confidence,
            )  # fmt: skip
        else:
            more = verdicts.images_to_decide(
                verdict.interval, limit.bound, worse, measurement.images
            )
        verdict = replace(verdict, images_to_decide=more or None)
    return verdicts.open_if_undetected(verdict, measurement.worst_case)


def settle(measurement: Measurement, verdict: Verdict, operator: str, *, against: str) -> bool:
    """Record a verdict and say whether the test goes on."""
    here = bench()
    here.last = _check(here.test, measurement, verdict, operator, against)
    here.remarks = measurement.remarks
    here.record(here.last)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        return _when_inconclusive(here.inconclusive, measurement, verdict, operator)
    return verdict.outcome is Outcome.PASS


def _when_inconclusive(
    policy: str, measurement: Measurement, verdict: Verdict, operator: str
) -> bool:
    if policy != "estimate":
        return policy == "pass"
    if measurement.interval is None:
        return False
    estimate, bound = measurement.estimate, verdict.limit.bound
    return estimate <= bound if operator.startswith("<") else estimate >= bound


def _check(
    test: str,
    measurement: Measurement,
    verdict: Verdict,
    operator: str,
    against: str,
) -> Check:
    interval = verdict.interval
    return Check(
        test=test,
        metric=measurement.name,
        subject=measurement.subject,
        outcome=verdict.outcome,
        estimate=interval.estimate if interval else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        level=interval.level if interval else None,
        method=interval.method if interval else "",
        n=interval.n if interval else 0,
        operator=operator,
        bound=verdict.limit.bound,
        reason=verdict.limit.reason,
        p_value=verdict.p_value,
        images_to_decide=verdict.images_to_decide,
        paper=measurement.paper,
        floor=measurement.floor,
        message=verdict.message,
        against=against,
        worst_case=measurement.worst_case,
    )


# files


def read_limits(path: Path) -> dict[str, Limit]:
    """Limits of one TOML file by name; ``[similarity_gap.image]`` is ``similarity_gap.image``.

    A value is a number, or a table of limit and reason. FileFormatError names the key.
    """
    found: dict[str, Limit] = {}
    _collect(path, read_toml(path), "", found)
    return found


def _collect(path: Path, table: Mapping[str, Any], prefix: str, found: dict[str, Limit]) -> None:
    for key, value in table.items():
        name = f"{prefix}{key}"
        inner = value if isinstance(value, dict) else {"limit": value}
        if "limit" in inner:
            try:
                found[name] = checked(name, inner["limit"], str(inner.get("reason", "")))
            except ConfigurationError as error:
                raise FileFormatError(path, str(error), where=f"key {name!r}") from None
        rest = {k: v for k, v in inner.items() if k not in ("limit", "reason")}
        _collect(path, rest, f"{name}.", found)


def checked(name: str, bound: Any, reason: str) -> Limit:
    """A limit whose metric exists and whose bound the metric can reach."""
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise ConfigurationError(f"expected a number as limit {name!r}, got {bound!r}")
    info = metric_of(name)
    if name.endswith(".margin"):
        if bound < 0:
            raise ConfigurationError(f"a margin is at least 0, got {name}={bound}")
    elif not info.low <= bound <= info.high:
        raise ConfigurationError(
            f"limit {name!r}: {info.name} lies between {info.low:g} and {info.high:g}, got {bound}"
        )
    return Limit(name, float(bound), reason)


def metric_of(name: str) -> MetricInfo:
    """The metric that a limit's name begins with."""
    from pytest_t2i.metrics import INFO

    base = name.partition(".")[0]
    if base not in INFO:
        raise UnknownNameError("limit", name, INFO)
    return INFO[base]


def nearest_limits_file(test_file: Path, root: Path) -> Path | None:
    """limits.toml beside the test or in the nearest folder above it, up to the root."""
    for folder in [test_file.parent, *test_file.parent.parents]:
        candidate = folder / "limits.toml"
        if candidate.is_file():
            return candidate
        if folder == root:
            return None
    return None
