"""An index of a detector's groups: one number for how evenly a prompt's images fall into them.

The prompts of a test share one error level, and a prompt is compared with its recorded images.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from pytest_t2i.audits.detected import DetectedPrompt, Siblings, listed
from pytest_t2i.audits.evidence import adjusted, inverted
from pytest_t2i.audits.parity.group_change import Index, prompt_change
from pytest_t2i.data import Evidence, Interval, MetricInfo
from pytest_t2i.verdicts.family import Family
from pytest_t2i.verdicts.measurement import Measurement

Counted = tuple[tuple[str, int], ...]
"""(group, number of images) for each group."""


@dataclass(frozen=True)
class GroupIndex:
    """An index with its metric, its estimator and the fewest images that it needs."""

    metric: MetricInfo
    estimated: Callable[..., Interval]
    """(images per group, level=...) -> the index with its interval."""
    fewest: int = 1
    """Smallest number of images with a label for an interval."""

    def interval(self, counts: Mapping[str, int], level: float) -> Interval | None:
        """Return the index with its interval; None with too few images."""
        if sum(counts.values()) < self.fewest:
            return None
        return _interval(self, tuple(counts.items()), level)

    def measured(self, sample: DetectedPrompt, siblings: Siblings[DetectedPrompt]) -> Measurement:
        """Measure the index of one prompt, among the prompts of its test."""
        few = f"none of {len(sample.seeds)} images has a label"
        if sample.counts:
            few = f"only {sample.counts.total()} of {len(sample.seeds)} images have a label"
        return Measurement(
            metric=self.metric,
            subject=sample.prompt.id,
            interval=self.interval(sample.judged_groups, sample.level),
            family=siblings.family(self.metric.name, self._family),
            place=siblings.places[sample.prompt.id],
            images=sample.counts.total(),
            absent=f"{few}: {listed(sample.undetected)}",
            remarks=(f"groups: {listed(sample.counts)}", f"images: {sample.folder}"),
            change=partial(
                prompt_change, sample, siblings, index=Index(self.metric, self.interval)
            ),
        )

    def _family(self, members: Sequence[DetectedPrompt]) -> Family:
        counts = [sample.judged_groups for sample in members]
        intervals = tuple(
            self.interval(groups, sample.level)
            for groups, sample in zip(counts, members, strict=True)
        )
        known = [
            None if interval is None else tuple(groups.items())
            for groups, interval in zip(counts, intervals, strict=True)
        ]
        return Family(intervals, partial(_evidence, self, known))


def _evidence(
    index: GroupIndex, members: Sequence[Counted | None], bound: float, level: float
) -> list[Evidence]:
    return adjusted(
        [None if counts is None else _of_one(index, counts, bound, level) for counts in members]
    )


# The prompts of a run share few different counts.
@lru_cache(maxsize=4096)
def _interval(index: GroupIndex, counts: Counted, level: float) -> Interval:
    return index.estimated(dict(counts), level=level)


@lru_cache(maxsize=4096)
def _of_one(index: GroupIndex, counts: Counted, bound: float, level: float) -> Evidence:
    return inverted(partial(_interval, index, counts), index.metric.worse)(bound, level)
