"""The failure text of a comparison: the measured value, the bound, and what would decide."""

from __future__ import annotations

from typing import Any

from pytest_t2i.data import Outcome
from pytest_t2i.reporting.formatting import (
    allowed_words,
    chance_words,
    side_of,
    why_allowed,
)
from pytest_t2i.sections.escaping import line
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.images_to_decide import images_range
from pytest_t2i.verdicts.measurement import Measurement


def assertion_lines(left: Any, right: Any) -> list[str] | None:
    """Return the lines of pytest's assertion message for a comparison of a measurement."""
    if not any(isinstance(side, Measurement) for side in (left, right)):
        return None
    checks = [getattr(side, "check", None) for side in (left, right)]
    check = next((candidate for candidate in checks if isinstance(candidate, Check)), None)
    return None if check is None else explained(check)


def explained(check: Check) -> list[str]:
    """Return the lines that explain a check."""
    what = "change" if check.is_change else "measured"
    lines = [_verdict_line(check), f"{what}: {_estimate_words(check)}"]
    if check.before is not None and check.after is not None:
        pair = f"before and now: {check.before:.3f} -> {check.after:.3f}"
        lines.insert(1, pair)
    if check.paper is not None:
        lines.append(chance_words(check))
    lines.append(allowed(check))
    if message := _beside_the_verdict(check):
        lines.append(message)
    if side := side_of(check):
        lines.append(f"the estimate lies {side} the limit, which is not a verdict")
    if check.images_to_decide:
        lines.append(_more_images(check, check.images_to_decide))
    return [line(text) for text in (*lines, *check.remarks)]


def _beside_the_verdict(check: Check) -> str:
    """Return the message without the sentence that repeats score, interval and limit."""
    first, repeated, _ = check.message.partition(f" {check.interval} ")
    return first.rpartition("; ")[0] if repeated else check.message


def _more_images(check: Check, more: int) -> str:
    text = f"about {more} more images would have decided if the score is as measured"
    if check.interval is None or check.is_of_model:  # n of a model counts its prompts
        return text
    image_range = images_range(check.n + more, check.interval, check.bound).less(check.n)
    return f"{text}. Within its error it takes {image_range.words('more')}"


def _verdict_line(check: Check) -> str:
    """Return the verdict in one line."""
    words = {
        Outcome.FAIL: "is outside its",
        Outcome.PASS: "is within its",
        Outcome.INCONCLUSIVE: "cannot be told from its",
    }
    return (
        f"{check.outcome}: {check.metric} of {check.subject} {words[check.outcome]} {check.against}"
    )


def _estimate_words(check: Check) -> str:
    """Return the estimate with its interval, method, n and p-value."""
    if check.estimate is None:
        return "no evidence"
    level = f"{check.level:.0%}" if check.level else ""
    evidence = f", p = {check.p_value:.2g}" if check.p_value is not None else ""
    return (
        f"{check.estimate:.3f}, {level} interval [{check.low:.3f}, {check.high:.3f}]"
        f" ({check.method}, n = {check.n}{evidence})"
    )


def allowed(check: Check) -> str:
    """Return the bound with its reason and author."""
    reason = f" ({why})" if (why := why_allowed(check)) else ""
    return f"allowed: {allowed_words(check)}{reason}"
