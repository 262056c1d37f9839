"""Groups against a recorded run: did those of a prompt or of the model become less even?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts, Siblings
from pytest_t2i.audits.evidence import adjusted, of_either
from pytest_t2i.audits.parity.change import NO_MARGIN, REASON
from pytest_t2i.audits.parity.recorded_pairs import RecordedPairs
from pytest_t2i.data import Evidence, Interval, Limit, MetricInfo, Outcome, Undetected, Verdict
from pytest_t2i.metrics import INFO
from pytest_t2i.statistics.distances import mean_total_variation_interval, total_variation_interval
from pytest_t2i.statistics.permutation import POWER, group_change_test
from pytest_t2i.statistics.two_shares import interval_difference
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.family import Family
from pytest_t2i.verdicts.measurement import Change, unchanged

ABSENT = "no prompt has an image with a label both in the baseline and now"
PROMPT_MARGIN = 0.1
"""Worsening of a prompt that is tolerated without a margin in the limits file: half of that for an
absolute bias score, because the distance is half of the score."""
COARSE = 0.1
"""Growth that a test must be able to find for a PASS; half of that for bias scores."""
IDENTICAL = "identical: the same model and the same labels as recorded"


class Index(NamedTuple):
    """A metric of groups by which a prompt is compared with its recorded images."""

    metric: MetricInfo
    """The metric; its direction says what is worse."""
    interval: Callable[[Mapping[str, int], float], Interval | None]
    """(images per group, level) -> interval of the metric; None with too few images."""


def _distance(counts: Mapping[str, int], level: float) -> Interval | None:
    if not any(counts.values()):
        return None
    even = dict.fromkeys(counts, 1.0 / len(counts))
    return total_variation_interval(counts, even, level)


DISTANCE = Index(INFO["group_distance"], _distance)
"""The distance from even shares."""


@dataclass(frozen=True)
class GroupPairs:
    """Prompts with their recorded images, each image by the number of its group."""

    pairs: RecordedPairs
    index: Index = DISTANCE

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The detector's names of the groups."""
        return tuple(self.pairs.samples[0].groups)

    @cached_property
    def before(self) -> list[np.ndarray]:
        """Group of each recorded image, -1 for undetected, per prompt."""
        return [self._numbers(recorded.said) for recorded in self.pairs.recorded]

    @cached_property
    def after(self) -> list[np.ndarray]:
        """Group of each image of this run, -1 for undetected, per prompt."""
        return [self._numbers([d.label for d in s.detections]) for s in self.pairs.samples]

    def _numbers(self, said: Sequence[str | Undetected | None]) -> np.ndarray:
        places: dict[str | Undetected | None, int] = dict(
            zip(self.groups, range(len(self.groups)), strict=True)
        )
        return np.array([places.get(word, -1) for word in said], dtype=int)

    @property
    def are_identical(self) -> bool:
        """Whether the same model showed the same groups for the same seeds."""
        seen = self.pairs.samples[0].observations
        return (
            seen.model_fingerprint == self.pairs.baseline.model_fingerprint
            and self.pairs.share_seeds
            and all(
                np.array_equal(old, new) for old, new in zip(self.before, self.after, strict=True)
            )
        )

    def counts(self, side: Sequence[np.ndarray]) -> np.ndarray:
        """Return the number of images per prompt and group, [n_prompts, n_groups]."""
        return np.array([np.bincount(row[row >= 0], minlength=len(self.groups)) for row in side])

    def sides(self, place: int, level: float) -> tuple[Interval, Interval] | None:
        """Return a prompt's intervals before and after; None with too few labels on either side."""
        rows = [self.counts([side[place]])[0].tolist() for side in (self.before, self.after)]
        before, after = (
            self.index.interval(dict(zip(self.groups, row, strict=True)), level) for row in rows
        )
        return None if before is None or after is None else (before, after)

    def change(self, place: int, level: float) -> Interval | None:
        """Return how much worse a prompt became; None with too few labels on either side."""
        both = self.sides(place, level)
        if both is None:
            return None
        before, after = both if self.index.metric.worse == "higher" else both[::-1]
        return interval_difference(before, after)


# one prompt


def prompt_change(
    sample: DetectedPrompt,
    siblings: Siblings[DetectedPrompt],
    baseline: Baseline,
    margin: float | None,
    level: float,
    index: Index = DISTANCE,
) -> Change:
    """Compare a prompt with its recorded images; the prompts of one test share an error level."""
    tolerated = PROMPT_MARGIN if margin is None else margin
    limit = Limit(index.metric.name, tolerated, REASON)
    pair = GroupPairs(RecordedPairs([sample], baseline), index)
    both = pair.sides(0, sample.level)
    before, after = (None, None) if both is None else (both[0].estimate, both[1].estimate)
    if pair.are_identical:
        return _identical(limit, len(sample.seeds))._replace(before=before, after=after)
    name = ("change", index.metric.name, tolerated)
    family = siblings.family(name, partial(_family, index, baseline, tolerated))
    verdict = family.verdicts(limit, "higher", level)[siblings.places[sample.prompt.id]]
    return Change(verdict, verdict.interval, ABSENT, pair.pairs.unpaired, before, after)


def _family(
    index: Index, baseline: Baseline, margin: float, members: Sequence[DetectedPrompt]
) -> Family:
    pairs = GroupPairs(RecordedPairs(members, baseline), index)
    intervals = tuple(pairs.change(place, members[0].level) for place in range(len(members)))

    def evidence(_: float, level: float) -> list[Evidence]:
        del level
        return adjusted(
            [
                None if interval is None else _evidence(pairs, place, margin)
                for place, interval in enumerate(intervals)
            ]
        )

    return Family(intervals, evidence)


def _evidence(pairs: GroupPairs, place: int, margin: float) -> Evidence:
    """Return evidence of a growth beyond the margin and within it, by inverting the interval."""

    def interval(level: float) -> Interval:
        change = pairs.change(place, level)
        if change is None:
            raise ValueError(f"expected labels on both sides of prompt {place}")
        return change

    return of_either(partial(statistics.inverted_p_value, interval, margin))


# the model


def model_change(
    samples: DetectedPrompts, baseline: Baseline, margin: float | None, level: float
) -> Change:
    """Compare the model with its recorded images.

    With a margin in the limits file, both ends of the change's interval decide. Without one, a
    permutation test decides: FAIL where it finds a growth; PASS where it finds none and either
    would have found one of 0.1 or the interval excludes one of that size.
    """
    limit = Limit("group_distance", margin or 0.0, NO_MARGIN if margin is None else REASON)
    pairs = GroupPairs(RecordedPairs(samples.members, baseline))
    both = _of_model(samples, pairs, level)
    if both is None:
        return Change(Verdict(Outcome.INCONCLUSIVE, None, limit), None, ABSENT)
    before, after = (one.estimate for one in both)
    if pairs.are_identical:
        return _identical(limit, samples.images)._replace(before=before, after=after)
    change = interval_difference(*both)
    verdict = (
        _by_permutation(samples, pairs, change, limit, level)
        if margin is None
        else _by_margin(samples, pairs, change, limit, level)
    )
    decided = "permutation test" if margin is None else "margin"
    told = pairs.pairs.unpaired
    return Change(verdict, change, ABSENT, told, before, after, (), decided)  # type: ignore[arg-type]


def _of_model(
    samples: DetectedPrompts, pairs: GroupPairs, level: float
) -> tuple[Interval, Interval] | None:
    """Return the mean distance before and after, over the prompts with labels on both sides."""
    sides = [pairs.counts(side) for side in (pairs.before, pairs.after)]
    used = np.all([side.sum(axis=1) > 0 for side in sides], axis=0)
    if not np.any(used):
        return None
    even = np.full(len(pairs.groups), 1.0 / len(pairs.groups))
    before, after = (
        mean_total_variation_interval(
            side[used], even, level=level, seed=samples.seed, words=samples.words
        )
        for side in sides
    )
    return before, after


def _by_margin(
    samples: DetectedPrompts, pairs: GroupPairs, change: Interval, limit: Limit, level: float
) -> Verdict:
    both = _of_model(samples, pairs, statistics.one_sided(level))
    at = change if both is None else interval_difference(*both)
    outcome = judge.compare(at, limit.bound, "higher")
    return Verdict(outcome, change, limit)


def _by_permutation(
    samples: DetectedPrompts, pairs: GroupPairs, change: Interval, limit: Limit, level: float
) -> Verdict:
    tested = group_change_test(
        pairs.before,
        pairs.after,
        len(pairs.groups),
        level=level,
        seed=samples.seed,
        shared_seeds=pairs.pairs.share_seeds,
    )
    seen = f"a growth by {tested.found:.2f} would be found in about {POWER:.0%} of runs"
    if tested.p_value <= 1.0 - level + judge.ROUNDING:
        outcome, message = Outcome.FAIL, "further from even shares than recorded"
    elif tested.found > COARSE and change.high > COARSE:
        outcome, message = Outcome.INCONCLUSIVE, f"too few images to tell: only {seen}"
    else:
        outcome = Outcome.PASS
        message = f"not found to be further from even shares than recorded; {seen}"
    return Verdict(outcome, change, limit, tested.p_value, message=message)


def _identical(limit: Limit, images: int) -> Change:
    return unchanged(limit, images, IDENTICAL)._replace(decided_by="identical pictures")
