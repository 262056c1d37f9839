"""What a check allows, who chose that and why, as readers see it."""

from __future__ import annotations

from pytest_t2i.verdicts.check import Check

SIGNS = {"<=": "\u2264", ">=": "\u2265"}


def allowed_words(check: Check) -> str:
    """What a check allows: ``<= 0.3``, or of a change: a margin, or nothing that a test finds."""
    if check.against != "baseline":
        return f"{check.operator} {check.bound:g}"
    if check.decided_by == "permutation test":
        return "no growth that a permutation test finds"
    if check.decided_by == "identical pictures":
        return "the same pictures"
    further = "less" if check.operator.startswith(">") else "more"
    return f"at most {check.bound:g} {further} than the baseline"


NO_REASON = "no reason given"


def why_allowed(check: Check) -> str:
    """Who chose a check's bound and why, or that nobody has said."""
    if not check.has_limit:
        return check.reason
    author = f"; set by {check.author}" if check.author else ""
    return f"{check.reason or NO_REASON}{author}"


def unreasoned(check: Check) -> str:
    """A mark behind a limit for which nobody has given a reason; "" behind any other."""
    return f" ({NO_REASON})" if check.has_limit and not check.reason else ""


def allowed_drawn(check: Check) -> str:
    """``allowed_words`` with the signs of a book: ``\u2264 0.3``."""
    words = allowed_words(check)
    for sign, drawn in SIGNS.items():
        words = words.replace(sign, drawn)
    return words
