"""Messages of inconclusive verdicts that images without a label cause."""

from __future__ import annotations

from dataclasses import replace

from pytest_t2i.data import MANY_UNDETECTED, Bounds, Outcome, Verdict


def open_if_undetected(verdict: Verdict, worst_case: Bounds | None) -> Verdict:
    """Return the verdict; an INCONCLUSIVE for lack of labels gets a message with what helps.

    Labels are the cause where the labelled images alone would decide, or where more than one image
    in five is undetected (``data.MANY_UNDETECTED``) and the worst-case bounds lie on both sides of
    the limit. The evidence holds for any labels of the undetected images: a PASS or FAIL is never
    changed.

    Args:
        verdict: verdict by the evidence, with the outcome by the labelled images alone.
        worst_case: as from ``statistics.worst_case_bounds``; None where no image is undetected.

    Returns:
        The verdict, or the same with a message that names the undetected images.

    >>> from pytest_t2i.data import Evidence, Interval, Limit
    >>> seen, limit = Interval(1.0, 0.8, 1.0, 0.95, "test", 18), Limit("x", 0.5)
    >>> evidence = Evidence(0.09, 1.0, labelled=(0.006, 1.0))
    >>> from pytest_t2i.verdicts.judge import judge
    >>> verdict = judge(seen, limit, "higher", evidence=evidence)
    >>> open_if_undetected(verdict, Bounds(0.8, 1.0, 0.1)).hangs_on_undetected
    True
    """
    alone = verdict.labelled
    if verdict.outcome is not Outcome.INCONCLUSIVE or alone is None or worst_case is None:
        return verdict
    bound, share = verdict.limit.bound, worst_case.undetected
    both_sides = worst_case.leave_open(bound)
    if alone is Outcome.INCONCLUSIVE and not (both_sides and share > MANY_UNDETECTED):
        return verdict
    message = f"{share:.0%} of the images are undetected"
    if alone is not Outcome.INCONCLUSIVE:
        message = f"The labelled images alone would {alone}, but {message}"
    if both_sides:
        message += (
            f": whatever they show, the score of these images lies at {worst_case}, on both sides "
            f"of {bound:g}. More images would not decide while so many are undetected; a detector "
            "that labels more of them, or people, would"
        )
    else:
        message += (
            ", and with the labels least favourable to that outcome the evidence is too weak. A "
            "detector that labels more of them, people's labels, or more images would decide"
        )
    return replace(
        verdict, images_to_decide=None, lean=None, leaning="", message=message,
        hangs_on_undetected=True,
    )  # fmt: skip
