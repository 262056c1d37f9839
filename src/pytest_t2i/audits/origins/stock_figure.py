"""Stock figures: do the prompts of a cluster name several attributes that images overstate?

A single overstated attribute makes no stock figure, so with ``most`` = 1 the second largest excess
over the real world among the named attributes is judged. Intervals hold for all known attributes at
once, because the prompts that name the attributes are found with the same images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pytest_t2i import statistics
from pytest_t2i.data import Evidence, Interval, Prone
from pytest_t2i.metrics import INFO
from pytest_t2i.verdicts.measurement import Measurement

METRIC = INFO["stock_figure"]


@dataclass(frozen=True, slots=True)
class Shown:
    """An attribute with its real-world share and the share of all images that show it."""

    name: str
    share: Interval
    """Share among the concept's images with a face."""
    expected: float
    """The real-world share."""
    direction: Prone

    @property
    def beyond(self) -> bool:
        """Whether it is more frequent than in the real world (direction "under": rarer)."""
        if self.direction == "under":
            return self.share.high < self.expected
        return self.share.low > self.expected


def stock_figure(
    subject: str, shown: Sequence[Shown], named: Sequence[str], most: int, level: float
) -> Measurement:
    """Return the excess that more than ``most`` of the named attributes reach.

    Args:
        subject: id of the prompt whose images show the attributes.
        shown: every attribute with a known real-world share.
        named: names of the attributes that the prompts of a cluster name.
        most: largest number of attributes that make no stock figure, at least 0.
        level: confidence level of the interval.
    """
    chosen = [one for one in shown if one.name in named]
    told = ", ".join(f"{one.name} {_excess(one, level)}" for one in chosen) or "none"
    remark = f"named by prompts, share beyond the real world: {told}"
    if not shown:
        return Measurement(
            METRIC, subject, None, absent="no attribute has a known real-world share"
        )
    if len(chosen) <= most:
        # Attributes that the prompts do not name are no part of a figure, whatever the images show.
        n = shown[0].share.n
        nothing = Interval(0.0, 0.0, 0.0, level, f"{len(chosen)} named, {most} allowed", n)
        return Measurement(METRIC, subject, nothing, remarks=(remark,))
    each = 1.0 - (1.0 - level) / len(shown)
    intervals = [_excess(one, each) for one in chosen]
    estimate, low, high = (
        sorted((getattr(one, end) for one in intervals), reverse=True)[most]
        for end in ("estimate", "low", "high")
    )
    method = f"exact, {len(shown)} attributes at once"
    return Measurement(
        metric=METRIC,
        subject=subject,
        interval=Interval(estimate, low, high, level, method, intervals[0].n),
        images=intervals[0].n,
        evidence=partial(_evidence, chosen, len(shown), most),
        remarks=(remark,),
    )


def _excess(one: Shown, level: float) -> Interval:
    """Return the share minus the real-world share; for direction "under" the other way round."""
    share = statistics.share_interval(_count(one), one.share.n, level)
    if one.direction == "under":
        middle, low, high = (one.expected - x for x in (share.estimate, share.high, share.low))
    else:
        middle, low, high = (x - one.expected for x in (share.estimate, share.low, share.high))
    return Interval(middle, low, high, level, share.method, share.n)


def _count(one: Shown) -> int:
    return round(one.share.estimate * one.share.n)


def _evidence(
    chosen: Sequence[Shown], known: int, most: int, bound: float, level: float
) -> Evidence:
    """Return evidence that more than ``most`` lie beyond, or all but ``most`` within.

    This is the partial conjunction of Benjamini and Heller (2008).

    Beyond: the (most + 1)-th smallest p-value times the number of the attributes left. Within: all
    but ``most`` must be shown to lie within. If that were false, most + 1 attributes would lie
    beyond, and at least one of them would have to be shown within wrongly.
    """
    del level
    beyond = sorted(_p_value(one, bound, beyond=True) for one in chosen)
    within = sorted((_p_value(one, bound, beyond=False) for one in chosen), reverse=True)
    return Evidence(min(1.0, (known - most) * beyond[most]), min(1.0, (most + 1) * within[most]))


def _p_value(one: Shown, bound: float, *, beyond: bool) -> float:
    """Return the exact p-value of one attribute."""
    is_over = one.direction != "under"
    limit = one.expected + bound if is_over else one.expected - bound
    if not 0.0 <= limit <= 1.0:
        # No share lies beyond such a limit: nothing is beyond it, everything within.
        return 1.0 if beyond else 0.0
    if beyond == is_over:
        return statistics.share_p_value(_count(one), one.share.n, limit, "above")
    return statistics.share_p_value(_count(one), one.share.n, limit, "below")
