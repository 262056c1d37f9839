"""The context of a running test: its limits, its level, and where its checks are recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from pytest_t2i.data import Limit, Outcome
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.measurement import Compared, Measurement


@dataclass(frozen=True, slots=True)
class JudgingContext:
    """The context in which the comparisons of one running test are judged."""

    test: str
    """Node id of the test."""
    limits: Mapping[str, Limit]
    limits_file: Path | None
    inconclusive: tuple[str, str]
    """Effect of an inconclusive check: of one prompt, and of the model or against a baseline."""
    confidence: float
    record: Callable[[Check], None]
    open_because: Callable[[Measurement], str] = lambda _: ""
    """Function that returns why a measurement of the test cannot be decided; "" where it can."""
    with_looks: Callable[[Check], Check] = lambda check: check
    """Function that says in a check which earlier runs looked at the same comparison."""
    keep: Callable[[Compared], None] = lambda _: None
    """Function that takes what an audit's record keeps of a measurement."""


running: ContextVar[JudgingContext | None] = ContextVar("running", default=None)


def current() -> JudgingContext:
    """Return the running test's context; ConfigurationError outside a t2i test."""
    context = running.get()
    if context is None:
        raise ConfigurationError(
            "limit() was called outside a running t2i test: call it inside the test function, and "
            "mark the test with @pytest.mark.t2i(...)"
        )
    return context


def settle(check: Check, compared: Compared | None = None) -> bool:
    """Record a check and what was compared, and tell whether its test goes on."""
    context = current()
    context.record(check)
    if compared is not None:
        context.keep(compared)
    if check.outcome is not Outcome.INCONCLUSIVE:
        return check.outcome is Outcome.PASS
    policy = context.inconclusive[check.weighs_on_run]
    if policy != "estimate":
        return policy != "fail"
    if check.estimate is None:
        return False
    if check.operator.startswith("<"):
        return check.estimate <= check.bound
    return check.estimate >= check.bound
