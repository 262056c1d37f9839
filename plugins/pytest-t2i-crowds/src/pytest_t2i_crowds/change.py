"""Groups of people against a recorded run: a gap that grew is a worsening."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np
from pytest_t2i import Change, Interval, People, T2IError, worsening
from pytest_t2i.statistics import interval_difference, one_sided

from pytest_t2i_crowds.pictures import crowd_pictures
from pytest_t2i_crowds.shown import ShownCrowd

SAME = "identical: the same pictures by the same detector as recorded"
TIE = 1e-12
"""Rounding of equal sums."""
REDRAWS, SEED = 4000, 0
"""Redraws of the permutation test, which are the same in every run."""
NAMED = 3
"""Largest number of prompts that a message names."""


class Counted(Protocol):
    """The people in the pictures of one prompt of this run."""

    @property
    def id(self) -> str:
        """Id of the prompt."""

    @property
    def about(self) -> Any:
        """The prompt."""

    @property
    def pictures(self) -> tuple[ShownCrowd, ...]:
        """The people of each picture."""

    @property
    def pictures_digest(self) -> str:
        """Digest of the store's keys of the pictures."""

    @property
    def detector_fingerprint(self) -> str:
        """Fingerprint of the detector that counted them."""


@dataclass(frozen=True, slots=True)
class RecordedCrowd:
    """The people in the recorded pictures of a prompt."""

    detector_fingerprint: str
    digest: str
    """Digest of the store's keys of the pictures."""
    labels: tuple[str, ...]
    people: tuple[tuple[int, ...], ...]
    """Number of people, and of those with each label, per picture; () where nothing is known."""
    front: tuple[str, ...]
    """Label of the person in front of each picture; "" for none."""

    @property
    def pictures(self) -> tuple[ShownCrowd, ...]:
        """The people of each picture, as in a run."""
        return tuple(
            ShownCrowd(
                People(row[0], dict(zip(self.labels, row[1:], strict=True))) if row else None,
                front or None,
            )
            for row, front in zip(self.people, self.front, strict=True)
        )


RECORDED = dict[str, RecordedCrowd]
"""The part of a baseline: text of the prompt -> its record."""


def recorded(members: Sequence[Counted], labels: Sequence[str]) -> dict[str, Any]:
    """Return what a baseline keeps of each prompt, as plain values."""

    def row(picture: ShownCrowd) -> tuple[int, ...]:
        people = picture.people
        return () if people is None else (people.number, *(people.groups[k] for k in labels))

    return {
        member.about.text: asdict(
            RecordedCrowd(
                member.detector_fingerprint,
                member.pictures_digest,
                tuple(labels),
                tuple(map(row, member.pictures)),
                tuple(picture.front or "" for picture in member.pictures),
            )
        )
        for member in members
    }


def crowd_change(
    members: Sequence[Counted], metric: str, alike: float, baseline: Any, margin: float | None,
    level: float,
) -> Change:  # fmt: skip
    """Compare a metric with its record.

    The interval of the worsening decides. Without a stated margin, any worsening that an exact
    permutation test of the pictures of each prompt finds is a FAIL, too.

    Raises T2IError where the baseline has no people of these prompts by this detector.
    """
    records = _records(members, baseline)
    sides = [crowd_pictures(side, metric, alike) for side in (records, members)]
    info = sides[0].metric
    before, after = (_size(side.interval(one_sided(level))) for side in sides)
    pairs = zip(members, records, strict=True)
    if all(member.pictures_digest == record.digest for member, record in pairs):
        images = sum(len(member.pictures) for member in members)
        same = Interval(0.0, 0.0, 0.0, 1.0, "identical", images)
        found = worsening(
            info, before or same, after or same, margin=margin, level=level, change=same
        )
        return found._replace(
            verdict=replace(found.verdict, message=SAME),
            remarks=(SAME,),
            decided_by="identical pictures",
            before=None if before is None else before.estimate,
            after=None if after is None else after.estimate,
        )
    if before is None or after is None:
        why = "nobody has a label in the baseline, or now"
        return Change.absent_because(info, margin or 0.0, why)
    return worsening(
        info, before, after, margin=margin, level=level,
        change=interval_difference(before, after),
        p_value=crowd_change_p_value(*(side.weighed for side in sides)),
    )  # fmt: skip


def crowd_change_p_value(
    before: Sequence[np.ndarray], after: Sequence[np.ndarray], *, seed: int = SEED,
    redraws: int = REDRAWS,
) -> float:  # fmt: skip
    """Return the exact p-value against "each prompt's pictures are drawn as before".

    ``before`` and ``after`` hold the value and the weight of each picture of a prompt. Under the
    null hypothesis the pictures of a prompt are exchangeable, whatever people share a picture. The
    statistic is the growth of the absolute ratio over all prompts.
    """
    rng = np.random.default_rng(seed)
    sums = np.zeros((2, redraws + 1, 2))
    for old, new in zip(before, after, strict=True):
        every, picked = np.concatenate([old, new]), np.zeros((redraws + 1, len(old) + len(new)))
        picked[0, len(old) :] = 1.0
        picked[1:] = rng.permuted(np.tile(picked[0], (redraws, 1)), axis=1)
        after_sums = picked @ every
        sums += np.stack([every.sum(axis=0) - after_sums, after_sums])
    values, weights = np.moveaxis(sums, 2, 0)
    sizes = np.abs(np.divide(values, weights, out=np.zeros_like(values), where=weights > 0.0))
    growths = sizes[1] - sizes[0]
    reached = int(np.count_nonzero(growths[1:] >= growths[0] - TIE))
    return (1.0 + reached) / (1.0 + redraws)


def _size(value: Interval | None) -> Interval | None:
    """Return the interval of the absolute value; None where nobody has a label."""
    return None if value is None else abs(value)


def _records(members: Sequence[Counted], baseline: Any) -> list[RecordedCrowd]:
    """Return the record of each prompt; raises T2IError without a comparable one."""
    remedy = "Record a new one with --t2i-save-baseline."
    records = baseline.part("crowd", RECORDED) or {}
    absent = [member.id for member in members if member.about.text not in records]
    if absent:
        raise T2IError(f"the baseline has no groups of people of {_some(absent)}. {remedy}")
    pairs = [(member, records[member.about.text]) for member in members]
    others = [m.id for m, record in pairs if record.detector_fingerprint != m.detector_fingerprint]
    if others:
        raise T2IError(
            f"the baseline's groups of people of {_some(others)} were counted by another "
            f"detector, or another version of it. {remedy}"
        )
    return [record for _, record in pairs]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (" ..." if len(names) > NAMED else "")
