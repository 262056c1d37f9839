"""The failure text of a comparison: what was measured, what was allowed, what would decide."""

from __future__ import annotations

from typing import Any

from pytest_t2i.data import Bounds, Outcome
from pytest_t2i.runs.record import Check
from pytest_t2i.verdicts.limits import Bench
from pytest_t2i.verdicts.measurement import Measurement


def explain(left: Any, right: Any, bench: Bench | None) -> list[str] | None:
    """Lines for pytest's assertion message; None when the comparison is not ours."""
    measurement = next((one for one in (left, right) if isinstance(one, Measurement)), None)
    if measurement is None or bench is None or bench.last is None:
        return None
    check = bench.last
    lines = [headline(check), f"measured: {measured(check)}"]
    if check.paper is not None:
        floor = "" if check.floor is None else f" (a fair model shows {check.floor:.3f})"
        lines.append(f"the paper's estimate: {check.paper:.3f}{floor}")
    if check.worst_case is not None:
        lines.append(worst_case(check.worst_case))
    lines.append(allowed(check))
    if check.message:
        lines.append(check.message)
    if check.images_to_decide:
        lines.append(f"about {check.images_to_decide} more images would decide")
    return [*lines, *bench.remarks]


def headline(check: Check) -> str:
    """The verdict in one line."""
    words = {
        Outcome.FAIL: "is outside its",
        Outcome.PASS: "is within its",
        Outcome.INCONCLUSIVE: "cannot be told from its",
    }
    return (
        f"{check.outcome}: {check.metric} of {check.subject} {words[check.outcome]} {check.against}"
    )


def measured(check: Check) -> str:
    """Estimate, interval and what stands behind them."""
    if check.estimate is None:
        return "no evidence"
    level = f"{check.level:.0%}" if check.level else ""
    evidence = f", p = {check.p_value:.2g}" if check.p_value is not None else ""
    return (
        f"{check.estimate:.3f}, {level} interval [{check.low:.3f}, {check.high:.3f}]"
        f" ({check.method}, n = {check.n}{evidence})"
    )


def worst_case(bounds: Bounds) -> str:
    """What undetected images could make of the score."""
    return f"whatever the {bounds.undetected:.0%} undetected images show: {bounds}"


def allowed(check: Check) -> str:
    """The bound and the reason it was set so."""
    reason = f" ({check.reason})" if check.reason else ""
    return f"allowed: {check.operator} {check.bound:g}{reason}"
