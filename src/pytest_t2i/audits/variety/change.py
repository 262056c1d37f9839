"""Variety against a recorded run: a drop is a worsening."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_t2i import statistics
from pytest_t2i.data import Interval, Limit, ShareInterval
from pytest_t2i.errors import BaselineMismatchError
from pytest_t2i.statistics.variety import wals_change_interval
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.measurement import Change, unchanged

MARGIN = 0.02
"""Drop that is tolerated without a margin in the limits file: about a tenth of the usual WALS of
images of people."""
SAME = "identical: the same pictures by the same encoder as recorded"


APART = "~"
"""Separator before the suffix that tells two attributes of one name apart."""


@dataclass(frozen=True, slots=True)
class RecordedVariety:
    """The recorded WALS of a concept's images along an attribute."""

    wals: ShareInterval
    encoder_fingerprint: str
    descriptions: str = ""
    """Digest of the attribute's descriptions."""
    pictures: str = ""
    """Digest of the pictures."""


RECORDED = dict[str, RecordedVariety]
"""The part of a baseline: id of the variety -> its record."""


class Varied(Protocol):
    """The variety of this run."""

    @property
    def id(self) -> str:
        """Id of the prompt, attribute and direction."""

    @property
    def rank(self) -> int | None:
        """Number of singular values that count; None for all, as in a baseline."""

    @property
    def interval(self) -> Interval | None:
        """WALS with its interval."""

    @property
    def absent(self) -> str:
        """Why there is no interval."""

    @property
    def encoder_fingerprint(self) -> str:
        """Fingerprint of the encoder behind the features."""

    @property
    def descriptions(self) -> str:
        """Digest of the attribute's descriptions."""

    @property
    def pictures(self) -> str:
        """Digest of the pictures."""


def mean_variety_change(
    several: Sequence[Varied], baseline: Baseline, margin: float | None, level: float
) -> Change:
    """Compare the mean WALS over prompts with its records: a drop beyond the margin is worse."""
    limit = Limit("wals", MARGIN if margin is None else margin, "largest drop tolerated")
    recorded = [_recorded(varied, baseline) for varied in several]
    pairs = []
    for varied, record in zip(several, recorded, strict=True):
        if varied.interval is None:
            return Change(judge.judge(None, limit, "higher"), None, varied.absent)
        pairs.append((record.wals, varied.interval))
    before, after = (sum(pair[side].estimate for pair in pairs) / len(pairs) for side in (0, 1))
    if all(v.pictures == r.pictures for v, r in zip(several, recorded, strict=True)):
        images = sum(now.n for _, now in pairs)
        return unchanged(limit, images, SAME)._replace(
            before=before, after=after, decided_by="identical pictures"
        )
    change = wals_change_interval(pairs, statistics.one_sided(level))
    return Change(judge.judge(change, limit, "higher"), change, "", (), before, after)


def _recorded(varied: Varied, baseline: Baseline) -> RecordedVariety:
    """Return the recorded counterpart; raises BaselineMismatchError without a comparable one."""
    remedy = "Record a new one with --t2i-save-baseline."
    if varied.rank is not None:
        raise BaselineMismatchError(
            f"a baseline holds variety by all singular values, not {varied.id}: leave rank out."
        )
    known_of = baseline.part("variety", RECORDED) or {}
    records = [record for name, record in known_of.items() if name.split(APART)[0] == varied.id]
    if not records:
        raise BaselineMismatchError(f"the baseline has no variety of {varied.id}. {remedy}")
    record = next(
        (candidate for candidate in records if candidate.descriptions == varied.descriptions),
        None,
    )
    if record is None:
        raise BaselineMismatchError(
            f"the baseline's variety of {varied.id} is along other descriptions. {remedy}"
        )
    if record.encoder_fingerprint != varied.encoder_fingerprint:
        raise BaselineMismatchError(
            f"the baseline's variety of {varied.id} was measured by another encoder. {remedy}"
        )
    if varied.interval is not None and varied.interval.n != record.wals.n:
        raise BaselineMismatchError(
            f"WALS compares between equal numbers of images: {varied.id} has {record.wals.n} in "
            f"the baseline, {varied.interval.n} now. Take as many with --t2i-images, or record a "
            "new baseline."
        )
    return record
