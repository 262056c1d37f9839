"""Variety against a recorded run: it must not drop."""

from __future__ import annotations

from typing import Protocol

from pytest_t2i import statistics
from pytest_t2i.data import Interval, Limit
from pytest_t2i.errors import BaselineMismatchError
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.measurement import Change, unchanged

MARGIN = 0.02
"""Drop that is tolerated unless the limits file says otherwise: about a tenth of what images of
people show along an attribute."""
SAME = "identical: the same pictures by the same encoder as recorded"


class Varied(Protocol):
    """Variety as it is measured now."""

    @property
    def id(self) -> str:
        """What was measured."""

    @property
    def interval(self) -> Interval | None:
        """WALS with its interval."""

    @property
    def absent(self) -> str:
        """Why there is none."""

    @property
    def encoder_fingerprint(self) -> str:
        """Of the encoder behind the features."""


def variety_change(
    varied: Varied, baseline: Baseline, margin: float | None, level: float
) -> Change:
    """WALS now and as recorded: a drop beyond the margin is a regression.

    Raises BaselineMismatchError where the baseline has none of it, by this encoder and as many
    images.
    """
    limit = Limit("wals", MARGIN if margin is None else margin, "largest drop tolerated")
    recorded = baseline.variety.get(varied.id)
    remedy = "Record a new one with --t2i-save-baseline."
    if recorded is None:
        raise BaselineMismatchError(f"the baseline has no variety of {varied.id}. {remedy}")
    if recorded.encoder_fingerprint != varied.encoder_fingerprint:
        raise BaselineMismatchError(
            f"the baseline's variety of {varied.id} was measured by another encoder. {remedy}"
        )
    now, before = varied.interval, recorded.wals
    if now is None:
        return Change(judge.judge(None, limit, "higher"), None, varied.absent)
    if now.n != before.n:
        raise BaselineMismatchError(
            f"WALS compares between equal numbers of images: of {varied.id} {before.n} are "
            f"recorded, {now.n} are there now. Take as many with --t2i-images, or record anew."
        )
    if now == before:
        return unchanged(limit, now.n, SAME)._replace(
            before=before.estimate, after=now.estimate, decided_by="identical pictures"
        )
    change = statistics.wals_change_interval(before, now, statistics.one_sided(level))
    return Change(
        judge.judge(change, limit, "higher"), change, "", (), before.estimate, now.estimate
    )
