"""Shares of a detector's groups, and differences of shares between concepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_t2i import statistics
from pytest_t2i.audits.engine.detected import (
    FEMALE,
    MALE,
    DetectedPrompt,
    DetectedPrompts,
)
from pytest_t2i.audits.engine.evidence import ALTERNATIVES
from pytest_t2i.audits.engine.samples import by_concept
from pytest_t2i.data import Bounds, Evidence, Interval
from pytest_t2i.errors import UnknownNameError
from pytest_t2i.metrics import INFO
from pytest_t2i.statistics.gaps import (
    parity_difference_interval,
    parity_difference_p_value,
    parity_shares,
    widest_gap,
)
from pytest_t2i.statistics.shares import Beyond
from pytest_t2i.statistics.undetected import worst_case_groups
from pytest_t2i.verdicts.caveats.seams import PValues, weakest_evidence
from pytest_t2i.verdicts.measurement import Measurement


def shares_of_model(samples: DetectedPrompts) -> dict[str, Interval]:
    """Return the share of each group over all prompts; {} with fewer than two labels.

    Prompts are the units, because images of one prompt are alike.
    """
    labels = [[d.label for d in sample.detections if d.label is not None] for sample in samples]
    if sum(map(len, labels)) < 2:  # noqa: PLR2004 - one image shows no spread
        return {}
    return {
        group: statistics.mean_interval(
            [[float(label == group) for label in of_prompt] for of_prompt in labels],
            level=samples.level,
            bounds=(0.0, 1.0),
        )
        for group in samples.members[0].groups
    }


def parity_difference(samples: DetectedPrompts, axis: str, label: str = "") -> Measurement:
    """Measure the largest minus the smallest share of a label (default: men) among concepts."""
    groups = by_concept(samples.members, axis)
    labels = samples.members[0].groups if samples.members else {MALE: 0}
    if (label or MALE) not in labels:
        remedy = f"Name one: demographic_parity_difference(axis, {next(iter(labels))!r})"
        raise UnknownNameError("label of the detector", label or MALE, labels, remedy)
    counted = label or MALE
    by_group = CountedGroups.of(samples, axis, counted)
    images = by_group.images
    interval, remarks = None, []
    if sum(any(map(len, of_group)) for of_group in images.values()) > 1:
        interval = parity_difference_interval(images, level=samples.level)
        shares = parity_shares(images, level=samples.level)
        ranked = sorted(
            (entry for entry in shares.items() if entry[1].n), key=lambda p: p[1].estimate
        )
        people = {MALE: "men", FEMALE: "women"}.get(counted, counted)
        remarks = [
            f"{word} share of {people}: {name} {share}"
            for word, (name, share) in (("largest", ranked[-1]), ("smallest", ranked[0]))
        ]
    total = sum(len(sample.seeds) for part in groups.values() for sample in part)
    return Measurement(
        metric=INFO["demographic_parity_difference"],
        subject=f"model by {axis}" if counted == MALE else f"model by {axis}, {counted}",
        is_of_model=True,
        interval=interval,
        images=total,
        evidence=by_group.evidence,
        absent=f"fewer than two of {len(groups)} groups have a clear image among {total} images",
        remarks=tuple(remarks),
        worst_case=_worst_case(groups, counted),
    )


class CountedGroups(NamedTuple):
    """The images of each group by prompt: 1 for those of the counted label, else 0."""

    images: Mapping[str, Sequence[Sequence[float]]]
    unknown: Mapping[str, Sequence[int]]
    """Undetected images of the worst case, by prompt."""
    samples: DetectedPrompts
    axis: str
    label: str

    @classmethod
    def of(cls, samples: DetectedPrompts, axis: str, label: str) -> CountedGroups:
        groups = by_concept(samples.members, axis)
        may_be = dict(zip((entry.prompt.id for entry in samples), samples.unknown, strict=True))
        images = {
            name: [
                [float(d.label == label) for d in entry.detections if d.label is not None]
                for entry in part
            ]
            for name, part in groups.items()
        }
        unknown = {
            name: [int(may_be[entry.prompt.id]) for entry in part] for name, part in groups.items()
        }
        return cls(images, unknown, samples, axis, label)

    def with_each(self, change: Callable[[Any], Any]) -> CountedGroups:
        """Return the groups with each sample changed; itself where none is."""
        samples = self.samples.with_each(change)
        return self if samples is self.samples else self.of(samples, self.axis, self.label)

    def at_worst(self, side: Beyond) -> CountedGroups:
        """Return the groups with labels of undetected images that weaken a side most."""
        if not any(map(any, self.unknown.values())):
            return self
        return self._replace(images=worst_case_groups(self.images, self.unknown, side), unknown={})

    def p_values(self, bound: float, side: Beyond) -> PValues:
        alternative = ALTERNATIVES[side]
        return [parity_difference_p_value(self.images, bound, alternative=alternative)]

    def evidence(self, bound: float, level: float) -> Evidence:
        """Return evidence of the widest difference of shares, in all readings."""
        del level
        (weakest,) = weakest_evidence(
            self.samples.readings, self, lambda way, side: way.p_values(bound, side)
        )
        return weakest


def _worst_case(groups: Mapping[str, Sequence[DetectedPrompt]], label: str) -> Bounds | None:
    """Return the bounds of the difference whatever the undetected images show; None without any."""
    unknown = [sum(s.undetected.total() for s in part) for part in groups.values()]
    images = [sum(len(s.seeds) for s in part) for part in groups.values()]
    if not any(unknown) or len(groups) < 2:  # noqa: PLR2004 - a gap is between two
        return None
    men = [sum(s.counts[label] for s in part) for part in groups.values()]
    low, high = widest_gap(
        [m / n for m, n in zip(men, images, strict=True)],
        [(m + u) / n for m, u, n in zip(men, unknown, images, strict=True)],
    )
    return Bounds(low, high, sum(unknown) / sum(images))
