"""Scores of counted labels: the one engine that measures them, of prompts and of models.

A score says how its values, intervals and p-values follow from the images of each group
(``Score``). This module does the rest: the family of a test's prompts, what undetected and equal
images may hide, the looks of early stopping, and the mean over prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from pytest_t2i.audits.engine.detected import (
    DetectedPrompt,
    DetectedPrompts,
    DistinctPictures,
    with_each,
)
from pytest_t2i.audits.engine.early_stopping import Shown, State, Stopping, evidence
from pytest_t2i.audits.engine.evidence import ALTERNATIVES
from pytest_t2i.audits.engine.peoples_labels import by_annotators
from pytest_t2i.data import Bounds, Evidence, Interval, MetricInfo
from pytest_t2i.labels import LabelledSet
from pytest_t2i.sections.words import several
from pytest_t2i.statistics.correction import LEAST_LABELS
from pytest_t2i.statistics.gaps import interval_difference
from pytest_t2i.statistics.group_sequential import stopped_share_interval
from pytest_t2i.statistics.inversion import inverted_p_value
from pytest_t2i.statistics.ranks import Rank
from pytest_t2i.statistics.shares import Beyond
from pytest_t2i.statistics.undetected import worst_case_labels
from pytest_t2i.verdicts.caveats.equal_pictures import whatever_some_show
from pytest_t2i.verdicts.caveats.seams import PValues, weakest_evidence
from pytest_t2i.verdicts.measurement import Change, Family, Measurement, Power

Member = TypeVar("Member", bound=DistinctPictures)


class Tally(NamedTuple):
    """The images of one prompt by group.

    >>> Tally((7, 3), (0.5, 0.5)).worst(2, "beyond").counts
    (7, 5)
    """

    counts: tuple[int, ...]
    expected: tuple[float, ...]
    """Share that is expected of each group."""

    @classmethod
    def even(cls, counts: Sequence[int] | np.ndarray) -> Tally:
        """Return the tally of groups of which even shares are expected."""
        return cls(tuple(map(int, counts)), (1.0 / len(counts),) * len(counts))

    @property
    def n(self) -> int:
        return sum(self.counts)

    def worst(self, unknown: int, side: Beyond) -> Tally:
        """Return the tally with undetected images labelled so as to weaken a side most."""
        return _worst(self, unknown, side) if unknown else self


# The prompts of a run share few different counts.
@lru_cache(maxsize=4096)
def _worst(tally: Tally, unknown: int, side: Beyond) -> Tally:
    filled = worst_case_labels(tally.counts, unknown, tally.expected, side)
    return tally._replace(counts=tuple(map(int, filled)))


Tallies = Sequence[Tally]
BY_LABELS = " + ppi++"
"""What a correction by people's labels adds to the method of an interval."""


def table(tallies: Tallies) -> np.ndarray:
    """Return the counts of several prompts, [prompts, groups]."""
    return np.array([tally.counts for tally in tallies])


class MeanChange(NamedTuple):
    """The means of two runs on the same prompts, and how much worse the second one is."""

    before: float
    after: float
    interval: Interval


Labels = Sequence[np.ndarray]
"""Number of the group of each image of each prompt, -1 for undetected."""


class Score(Generic[Member]):
    """How a score follows from counted images; what is None does not exist for this score."""

    metric: MetricInfo
    """The metric of a member of a family: of a prompt, or of a stereotype."""
    metric_of_model: MetricInfo
    """The metric of the mean over prompts."""
    groups: tuple[str, ...] = ()
    """The counted labels; () for all of the detector."""

    @property
    def key(self) -> Hashable:
        """What identifies the score among those of a test's members."""
        return self.metric.name

    # a member of a family

    def tally(self, member: Member) -> Tally:
        """Return the images that the score counts; none where nothing is judged."""
        raise NotImplementedError

    def plain_tally(self, member: Member) -> Tally:
        """Return ``tally`` without corrections by people's labels, for the mean over prompts."""
        return self.tally(member)

    def unknown(self, member: Member) -> int:
        """Return the undetected images of the worst case."""
        return 0

    def described(self, member: Member) -> dict[str, Any]:
        """Return the other fields of a member's ``Measurement``: images, absent, remarks ..."""
        raise NotImplementedError

    def corrected_value(self, member: Member) -> float | None:
        """Return the score as people's labels correct it; None where they do not."""
        return None

    def value(self, tally: Tally) -> float | None:
        """Return the score of these images; None without any."""
        raise NotImplementedError

    def interval(self, tally: Tally, level: float) -> Interval | None:
        """Return the score with its interval; None with too few images."""
        raise NotImplementedError

    def p_values(self, tallies: Tallies, bound: float, level: float, side: Beyond) -> PValues:
        """Return a p-value of each member; those for "beyond" are adjusted for their number."""
        raise NotImplementedError

    power: Power | None = None
    """Chance that a member is decided; None where it is not known."""

    def worst(self, tally: Tally, unknown: int, side: Beyond) -> Tally:
        """Return the tally with undetected images labelled so as to weaken a side most."""
        return tally.worst(unknown, side)

    def bounds(self, tally: Tally, unknown: int) -> Bounds:
        """Return bounds of the score over all labels of undetected images."""
        raise NotImplementedError

    # looks at the images while they are made

    of_share: Callable[[Interval, Tally], Interval] | None = None
    """(interval of the first group's share, tally) -> interval of the score; None for a score whose
    members take all their images."""

    def edge(self, tally: Tally, bound: float) -> float:
        """Return the bound of the sequential test of a member."""
        return bound

    def looked_at(self, member: Member, images: slice, *, labelled: bool) -> tuple[int, int, int]:
        """Return how many of some images count, and the range of their lean."""
        raise NotImplementedError

    # the mean over prompts

    def mean(self, tallies: Tallies, level: float) -> Interval:
        raise NotImplementedError

    def magnitude(self, tally: Tally) -> float:
        """Return the estimate of one prompt's absolute score, as ``mean`` takes it."""
        raise NotImplementedError

    def mean_p_value(self, tallies: Tallies, bound: float, side: Beyond) -> float:
        """Return the p-value of one side, by inverting intervals."""
        return inverted_p_value(partial(self.mean, tallies), bound, alternative=ALTERNATIVES[side])

    def described_of_model(self, samples: DetectedPrompts, *, corrected: bool) -> dict[str, Any]:
        """Return the other fields of the mean's ``Measurement``: absent, remarks, paper ..."""
        raise NotImplementedError

    def plain_mean(self, tallies: Tallies) -> float:
        """Return the mean over the prompts with an image, not corrected for few images."""
        values = [value for tally in tallies if (value := self.value(tally)) is not None]
        return float(np.mean(np.abs(values)))

    def rank(self, models: Sequence[Tallies], level: float, seed: int) -> list[Rank]:
        """Return the ranks of several models on the same prompts."""
        raise NotImplementedError

    # against recorded images

    margin: float
    """Worsening of a prompt that is tolerated without a margin in the limits file."""
    reach: float
    """Change of a prompt's score for a change of one share by 1."""
    further: str
    """What a model is that got worse: "more biased"."""
    incomparable: str
    """Why nothing can be compared, in words."""
    growth_probabilities: Callable[..., np.ndarray | None] | None = None
    """Images by group, as recorded and now -> probability that each prompt got worse."""

    def change(self, before: Tally, after: Tally, level: float) -> Interval | None:
        """Return how much worse a prompt became; None with too few images on either side."""
        old, new = self.interval(before, level), self.interval(after, level)
        if old is None or new is None:
            return None
        return interval_difference(old, new)

    def change_evidence(
        self, pair: tuple[np.ndarray, np.ndarray], margin: float, change: Interval, *, paired: bool
    ) -> Evidence | None:
        """Return evidence of a worsening beyond a margin; None where intervals are the evidence."""
        return None

    def mean_change(self, before: Tallies, after: Tallies, level: float) -> MeanChange | None:
        """Return how much worse the mean became; None where nothing can be compared."""
        raise NotImplementedError

    def growth_p_value(
        self, before: Labels, after: Labels, seed: int, *, groups: int, paired: bool
    ) -> float:
        """Return the permutation p-value of "the model is the same", for a worse mean."""
        raise NotImplementedError


# one member of a family


def of_member(
    score: Score[Member], member: Member, change: Callable[..., Change] | None = None
) -> Measurement:
    """Measure the score of one member of a family, such as a prompt among those of its test."""
    return Measurement(
        metric=score.metric,
        subject=member.id,
        interval=interval_of(score, member),
        family=member.together.family(score.key, partial(family, score)),
        place=member.together.places[member.id],
        power=score.power,
        change=None if change is None else partial(change, score, member),
        **score.described(member),
    )


def interval_of(score: Score[Member], member: Member) -> Interval | None:
    tally = score.tally(member)
    if member.stopping is not None and score.of_share is not None:
        return _stopped_interval(score, member, tally, member.stopping) if tally.n else None
    interval = score.interval(tally, member.level)
    corrected = score.corrected_value(member)
    if interval is None or corrected is None:
        return interval
    return _as_corrected(interval, corrected)


def _as_corrected(interval: Interval, estimate: float) -> Interval:
    low, high = min(interval.low, estimate), max(interval.high, estimate)
    method = interval.method + BY_LABELS
    return replace(interval, estimate=estimate, low=low, high=high, method=method)


def family(score: Score[Member], members: Sequence[Member]) -> Family:
    """Return the family of a test's members, whose evidence holds in the worst case."""

    def evidence_at(bound: float, level: float) -> list[Evidence]:
        def p_values(counted: Members[Member], side: Beyond) -> PValues:
            return counted.p_values(bound, level, side)

        readings = members[0].readings if members else ()
        weakest = weakest_evidence(readings, Members(score, members), p_values)
        # Others of the family may have undetected images where a member has none.
        return [
            entry if score.unknown(member) else entry._replace(labelled=None)
            for entry, member in zip(weakest, members, strict=True)
        ]

    intervals = (interval_of(score, member) for member in members)
    return Family(
        tuple(None if interval is None else abs(interval) for interval in intervals),
        evidence_at,
    )


@dataclass(frozen=True)
class Members(Generic[Member]):
    """The members of a family, their images counted in one way."""

    score: Score[Member]
    members: Sequence[Member]
    is_filled: bool = False
    """Whether undetected images are labelled so as to weaken a side most."""

    def with_each(self, change: Callable[[Any], Any]) -> Members[Member]:
        """Return the members with each one changed; itself where none is."""
        return with_each(self, change)

    def at_worst(self, side: Beyond) -> Members[Member]:
        """Return the members with undetected images labelled; itself where none count."""
        del side
        may_hide = self.look or any(map(self.score.unknown, self.members))
        return replace(self, is_filled=True) if may_hide else self

    @property
    def look(self) -> bool:
        """Whether members stopped by their own images."""
        return self.score.of_share is not None and any(m.stopping for m in self.members)

    def p_values(self, bound: float, level: float, side: Beyond) -> PValues:
        """Return a p-value of each member; those for "beyond" are adjusted for their number."""
        if self.look:
            entries = evidence_at_looks(
                self.score, self.members, bound, level, labelled=not self.is_filled
            )
            return [getattr(entry, side) for entry in entries]
        tallies = [self.score.tally(member) for member in self.members]
        if self.is_filled:
            unknown = map(self.score.unknown, self.members)
            pairs = zip(tallies, unknown, strict=True)
            tallies = [self.score.worst(*pair, side) for pair in pairs]
        return self.score.p_values(tallies, bound, level, side)


# members that stopped by their own images


def settled(score: Score[Member], member: Member) -> State:
    """Return the state that a member's own images have reached."""
    stop = member.stopping
    return "open" if stop is None else _looks(score, member, stop).state(stop.test)


def evidence_at_looks(
    score: Score[Member], members: Sequence[Member], bound: float, level: float, *, labelled: bool
) -> list[Evidence]:
    """Return the evidence by boundaries; there is none at another bound than the planned one."""
    pairs = [(member, member.stopping) for member in members if member.stopping is not None]
    tests = [stop.test for _, stop in pairs]
    edges = [score.edge(score.tally(member), bound) for member in members]
    if [test.bound for test in tests] != edges:
        return [Evidence(1.0, 1.0) for _ in members]
    return evidence([_looks(score, *pair, labelled=labelled) for pair in pairs], tests, level)


def _looks(
    score: Score[Member], member: Member, stop: Stopping, *, labelled: bool = False
) -> Shown:
    """Return what a member's images showed at each look; ``labelled`` omits undetected ones."""
    if member.has_no_verdict:
        return Shown((), 0, 0)
    looks: list[tuple[int, int]] = []
    least = largest = 0
    for images in stop.looks:
        part = slice(member.distinct_among(images))
        n, least, largest = score.looked_at(member, part, labelled=labelled)
        while looks and looks[-1][0] >= n:
            looks.pop()
        if n:
            looks.append((n, images))
    return Shown(tuple(looks), least, largest)


def _stopped_interval(
    score: Score[Member], member: Member, tally: Tally, stop: Stopping
) -> Interval:
    """Return the interval after early stopping, over all labels of undetected images that count."""
    assert score.of_share is not None  # noqa: S101 - asked for by ``interval_of``
    looks, k = _looks(score, member, stop).looks, tally.counts[0]
    undetected = looks[-1][0] - tally.n
    share, most = (
        stopped_share_interval(stop.test, looks, hits, member.level) for hits in (k, k + undetected)
    )
    return score.of_share(replace(share, high=most.high), tally)


# the mean over prompts


class ByLabels:
    """A correction of the detector's counts by people's labels (audits/parity/correction.py)."""

    counts: Any
    """prompt -> its corrected counts, or None where the detector's are kept."""
    labels: Any
    """Number of people's labels of these images."""
    left_out: int
    """Number of prompts with too few labels."""
    labelled: LabelledSet | None
    """The labelled images."""
    magnitude: Any
    """prompt -> the estimate of its absolute score, or None where the detector's counts give it."""

    def tallies(self, samples: DetectedPrompts) -> list[Tally]:
        """Return counts of as many images as would give the same certainty unlabelled."""
        return [Tally.even(self.counts(s.prompt) or (s.male, s.female)) for s in samples]

    def estimate(self, score: Any, samples: DetectedPrompts) -> float:
        """Return the mean over prompts with an image that counts, each corrected if it can be."""
        values = []
        for sample in samples:
            value = self.magnitude(sample.prompt)
            tally = score.plain_tally(sample)
            if value is None and tally.n:
                value = score.magnitude(tally)
            values += [] if value is None else [value]
        return min(1.0, max(0.0, float(np.mean(values))))

    def describe(self) -> str:
        few = f" ({self.left_out} prompts have fewer than {LEAST_LABELS})" * bool(self.left_out)
        return f"corrected by {several(self.labels, 'label')}{by_annotators(self.labelled)}{few}"

    def uncorrected(self, score: Any, samples: DetectedPrompts) -> str:
        """Return the mean by the predicted labels alone, in words."""
        interval = mean_interval_of(score, samples)
        return "no clear image" if interval is None else f"{interval.estimate:.3f}"


@dataclass(frozen=True, slots=True)
class MeanScore:
    """The counts behind a mean over prompts, with its interval and evidence."""

    score: Score[Any]
    samples: DetectedPrompts
    tallies: Tallies
    correction: ByLabels | None = None
    """The correction of the counts by people's labels."""

    @classmethod
    def of(
        cls, score: Score[Any], samples: DetectedPrompts, correction: ByLabels | None = None
    ) -> MeanScore:
        """Make the mean from the detector's counts, or from the corrected ones."""
        if correction is None:
            return cls(score, samples, [score.plain_tally(sample) for sample in samples])
        return cls(score, samples, correction.tallies(samples), correction)

    @property
    def judged(self) -> int:
        """Number of prompts with an image that counts."""
        return sum(tally.n > 0 for tally in self.tallies)

    def interval(self, level: float) -> Interval:
        interval = self.score.mean(self.tallies, level)
        if self.correction is None:
            return interval
        return _as_corrected(interval, self.correction.estimate(self.score, self.samples))

    def evidence(self, bound: float, level: float) -> Evidence:
        """Return one-sided p-values that hold in all readings of the images."""
        del level

        def p_values(mean: MeanScore, side: Beyond) -> PValues:
            return [mean.score.mean_p_value(mean.tallies, bound, side)]

        (weakest,) = weakest_evidence(self.samples.readings, self, p_values)
        return weakest

    def with_each(self, change: Callable[[Any], Any]) -> MeanScore:
        """Return the mean with each sample changed; itself where none is, or people labelled."""
        samples = self.samples if self.correction else self.samples.with_each(change)
        return self if samples is self.samples else MeanScore.of(self.score, samples)

    def at_worst(self, side: Beyond) -> MeanScore:
        """Return the mean with undetected images labelled so as to weaken a side most.

        With people's labels there is no worst case.
        """
        if self.correction is not None or not self.samples.unknown.any():
            return self
        pairs = zip(self.tallies, self.samples.unknown.tolist(), strict=True)
        return replace(self, tallies=[tally.worst(unknown, side) for tally, unknown in pairs])


def of_model(
    score: Score[DetectedPrompt],
    samples: DetectedPrompts,
    correction: ByLabels | None = None,
    why_no_verdict: str = "",
    change: Callable[..., Change] | None = None,
) -> Measurement:
    """Measure the mean over prompts.

    Where people labelled some of the images, their labels correct the detector's and stand in for
    the undetected images, so that no worst case is left; ``why_no_verdict`` says why they cannot.
    ``change`` is the comparison with recorded images, (score, samples, baseline, margin, level) ->
    Change.
    """
    if why_no_verdict:
        metric = score.metric_of_model
        return Measurement(metric, "model", None, absent=why_no_verdict, is_of_model=True)
    mean = MeanScore.of(score, samples, correction)
    evidence_at, despite = whatever_some_show(
        mean.evidence,
        [] if correction else samples.without_verdict,
        mean.judged,
        score.metric_of_model,
    )
    described = score.described_of_model(samples, corrected=correction is not None)
    if correction is not None:
        remark = f"{correction.describe()}; uncorrected: {correction.uncorrected(score, samples)}"
        described["remarks"] = (remark, *described.get("remarks", ()))
    return Measurement(
        metric=score.metric_of_model,
        subject="model",
        is_of_model=True,
        interval=mean.interval(samples.level) if mean.judged else None,
        # More images do not narrow an interval about a detector's errors.
        images=samples.images if correction is None else None,
        evidence=evidence_at,
        despite_repeats=despite,
        worst_case=worst_case_of(score, samples) if correction is None else None,
        change=None if change is None else partial(change, score, samples),
        **described,
    )


def mean_interval_of(score: Score[DetectedPrompt], samples: DetectedPrompts) -> Interval | None:
    """Return the mean over prompts with its interval; None without an image that counts."""
    mean = MeanScore.of(score, samples)
    return mean.interval(samples.level) if mean.judged else None


def worst_case_of(score: Score[DetectedPrompt], samples: DetectedPrompts) -> Bounds | None:
    """Return bounds of the mean, whatever undetected images show; None without any."""
    rows = [(score.plain_tally(sample), sample.hidden) for sample in samples]
    rows = [(tally, hidden) for tally, hidden in rows if tally.n + hidden]
    unknown = sum(hidden for _, hidden in rows)
    if not unknown:
        return None
    bounds = [abs(score.bounds(*row)) for row in rows]
    return Bounds(
        float(np.mean([entry.low for entry in bounds])),
        float(np.mean([entry.high for entry in bounds])),
        unknown / sum(tally.n + hidden for tally, hidden in rows),
    )
