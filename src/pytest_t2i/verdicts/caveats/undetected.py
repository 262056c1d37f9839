"""Undetected images: the range of the score whatever they show, and checks that lack labels.

The evidence holds for any labels of the undetected images, so that a PASS or FAIL is never changed.
Labels are the cause of an INCONCLUSIVE where the labelled images alone would decide, or where more
than one image in five is undetected (``data.MANY_UNDETECTED``) and the worst case lies on both
sides of the limit.
"""

from __future__ import annotations

from collections.abc import Iterable

from pytest_t2i.data import MANY_UNDETECTED, Bounds, Outcome, Scalar, Verdict
from pytest_t2i.statistics.shares import Beyond
from pytest_t2i.verdicts.caveats.caveat import LACKS, Caveat
from pytest_t2i.verdicts.caveats.seams import Counted, Question

NAME = "undetected"


def lack_labels(caveats: Iterable[Caveat]) -> bool:
    """Whether an INCONCLUSIVE check lacks labels, not images.

    >>> lack_labels([Caveat("undetected", "", {"lacks": "30% undetected"})])
    True
    """
    return any(caveat.name == NAME and caveat.lacks for caveat in caveats)


class UndetectedImages:
    """Lets evidence hold whatever undetected images show, and says what they could make of it."""

    fills_in = True

    def reading(self, counted: Counted, side: Beyond) -> Counted:
        """Return the images with undetected ones labelled so as to weaken a side most."""
        return counted.at_worst(side)

    def remark(self, question: Question, verdict: Verdict) -> Caveat | None:
        """Return the worst case, and what helps where labels are the cause."""
        worst_case = question.measurement.worst_case
        if worst_case is None or question.against != "limit":
            return None
        share = worst_case.undetected
        message = f"whatever the {share:.0%} undetected images show: {worst_case}"
        facts: dict[str, Scalar] = {
            "low": worst_case.low,
            "high": worst_case.high,
            "undetected": share,
        }
        if _lacks_labels(verdict, worst_case):
            facts[LACKS] = f"{share:.0%} undetected, {worst_case} whatever they show"
            message += _what_helps(verdict, worst_case)
        return Caveat(NAME, message, facts)


def _lacks_labels(verdict: Verdict, worst_case: Bounds) -> bool:
    """Whether labels of the undetected images are what an INCONCLUSIVE lacks.

    >>> from pytest_t2i.data import Evidence, Interval, Limit
    >>> from pytest_t2i.verdicts.judge import judge
    >>> seen, limit = Interval(1.0, 0.8, 1.0, 0.95, "test", 18), Limit("x", 0.5)
    >>> evidence = Evidence(0.09, 1.0, labelled=(0.006, 1.0))
    >>> verdict = judge(seen, limit, "higher", evidence=evidence)
    >>> _lacks_labels(verdict, Bounds(0.8, 1.0, 0.1))
    True
    """
    alone = verdict.labelled
    both_sides = worst_case.leave_open(verdict.limit.bound)
    if verdict.interval is None:
        return both_sides
    if verdict.outcome is not Outcome.INCONCLUSIVE or alone is None:
        return False
    return alone is not Outcome.INCONCLUSIVE or (
        both_sides and worst_case.undetected > MANY_UNDETECTED
    )


def _what_helps(verdict: Verdict, worst_case: Bounds) -> str:
    if verdict.interval is None:
        return ""
    bound, alone = verdict.limit.bound, verdict.labelled
    message = "" if alone is Outcome.INCONCLUSIVE else f". The labelled images alone would {alone}"
    if worst_case.leave_open(bound):
        return message + (
            f", on both sides of {bound:g}. More images would not decide while so many are "
            "undetected; a detector that labels more of them, or people, would"
        )
    return message + (
        ", but with the labels least favourable to that outcome the evidence is too weak. A "
        "detector that labels more of them, people's labels, or more images would decide"
    )
