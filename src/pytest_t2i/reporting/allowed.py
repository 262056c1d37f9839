"""The bound of a check in words, with its author and reason."""

from __future__ import annotations

from pytest_t2i.verdicts.check import Check

SIGNS = {"<=": "\u2264", ">=": "\u2265"}


def allowed_words(check: Check) -> str:
    """Return what a check allows: ``<= 0.3``, or for a change a margin or no significant growth."""
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
    """Return the reason for a check's bound and its author; NO_REASON for a limit without one."""
    if not check.has_limit:
        return check.reason
    author = f"; set by {check.author}" if check.author else ""
    return f"{check.reason or NO_REASON}{author}"


def unreasoned(check: Check) -> str:
    """Return the remark after a limit without a reason; "" for any other check."""
    return f" ({NO_REASON})" if check.has_limit and not check.reason else ""


def allowed_drawn(check: Check) -> str:
    """Return ``allowed_words`` with typographic signs: ``\u2264 0.3``."""
    words = allowed_words(check)
    for sign, drawn in SIGNS.items():
        words = words.replace(sign, drawn)
    return words
