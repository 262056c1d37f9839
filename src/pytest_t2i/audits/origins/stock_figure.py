"""Do prompts that lead to a cluster name a stock figure: several attributes, all of them shown?

Of the attributes that the prompts name, the second largest excess over the real world is judged
(with ``most`` = 1): one attribute makes no stock figure. Intervals hold for all known attributes at
once, so which of them the prompts name, found with the same images, may be chosen after the fact.
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
    """An attribute of known real-world share, and how many of all images show it."""

    name: str
    share: Interval
    """Share of the concept's images with a face."""
    expected: float
    """Real-world share."""
    direction: Prone

    @property
    def beyond(self) -> bool:
        """Whether it is more frequent than in the real world (prone to "under": rarer)."""
        if self.direction == "under":
            return self.share.high < self.expected
        return self.share.low > self.expected


def stock_figure(
    subject: str, shown: Sequence[Shown], named: Sequence[str], most: int, level: float
) -> Measurement:
    """The excess that more than ``most`` of the named attributes reach.

    Args:
        subject: the prompt whose images show them.
        shown: every attribute of known real-world share.
        named: those that the prompts of a cluster name.
        most: attributes that make no stock figure yet, at least 0.
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
        # What the prompts do not name is no part of a figure, whatever the images show.
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
    """Share less the real world's; of an attribute prone to be too rare the other way round."""
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
    """Partial conjunction: more than ``most`` beyond, or all but ``most`` within.

    Beyond: of p-values of all known attributes, the (most + 1)-th smallest times the number of
    those left (Benjamini and Heller 2008). Within: all but ``most`` must be shown to lie within;
    of the most + 1 that would lie beyond, at least one would be shown wrongly.
    """
    del level
    beyond = sorted(_p_value(one, bound, beyond=True) for one in chosen)
    within = sorted((_p_value(one, bound, beyond=False) for one in chosen), reverse=True)
    return Evidence(min(1.0, (known - most) * beyond[most]), min(1.0, (most + 1) * within[most]))


def _p_value(one: Shown, bound: float, *, beyond: bool) -> float:
    """Exact, of one attribute."""
    is_over = one.direction != "under"
    limit = one.expected + bound if is_over else one.expected - bound
    if not 0.0 <= limit <= 1.0:
        # No share lies there: nothing is beyond, everything within.
        return 1.0 if beyond else 0.0
    if beyond == is_over:
        return statistics.share_p_value(_count(one), one.share.n, limit, "above")
    return statistics.share_p_value(_count(one), one.share.n, limit, "below")
