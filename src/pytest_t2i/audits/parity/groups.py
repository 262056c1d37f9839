"""Groups: how images fall into the labels of a detector that tells more than male and female."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts, Siblings, listed
from pytest_t2i.audits.evidence import inverted
from pytest_t2i.data import Evidence, Interval
from pytest_t2i.metrics import INFO
from pytest_t2i.verdicts.family import Family
from pytest_t2i.verdicts.measurement import Measurement

Counted = tuple[tuple[str, int], ...]
"""Groups, and how many images are of each."""
IntervalOf = Callable[[Counted, float], Interval]
"""(counts, level) -> the interval."""


def shares_of_prompt(sample: DetectedPrompt) -> dict[str, Interval]:
    """Share of each group among the images with a label; {} without any."""
    return statistics.group_intervals(sample.groups, sample.level) if sample.counts else {}


def gap(sample: DetectedPrompt, siblings: Siblings[DetectedPrompt]) -> Measurement:
    """Largest minus smallest share of the detector's groups, from 0 (even) to 1."""
    return _measured(sample, siblings, "group_gap", _gap)


def entropy(sample: DetectedPrompt, siblings: Siblings[DetectedPrompt]) -> Measurement:
    """Normalised entropy of the detector's groups, from 0 (one group) to 1 (even)."""
    return _measured(sample, siblings, "group_entropy", _entropy)


@lru_cache(maxsize=4096)
def _gap(counted: Counted, level: float) -> Interval:
    return statistics.group_gap_interval(dict(counted), level)


@lru_cache(maxsize=4096)
def _entropy(counted: Counted, level: float) -> Interval:
    return statistics.group_entropy_interval(dict(counted), level=level, seed=0)


def _measured(
    sample: DetectedPrompt, siblings: Siblings[DetectedPrompt], metric: str, of: IntervalOf
) -> Measurement:
    return Measurement(
        metric=INFO[metric],
        subject=sample.prompt.id,
        interval=of(_counted(sample.groups), sample.level) if sample.counts else None,
        family=siblings.family(metric, partial(_family, metric, of)),
        place=siblings.places[sample.prompt.id],
        images=sample.counts.total(),
        absent=f"none of {len(sample.seeds)} images has a label: {listed(sample.undetected)}",
        remarks=(f"groups: {listed(sample.counts)}", f"images: {sample.folder}"),
    )


def _counted(groups: Mapping[str, int]) -> Counted:
    return tuple(groups.items())


def _family(metric: str, of: IntervalOf, members: Sequence[DetectedPrompt]) -> Family:
    counted = [_counted(sample.groups) if sample.counts else None for sample in members]
    intervals = tuple(
        None if counts is None else of(counts, sample.level)
        for counts, sample in zip(counted, members, strict=True)
    )
    return Family(intervals, partial(_evidence, metric, of, counted))


def _evidence(
    metric: str, of: IntervalOf, members: Sequence[Counted | None], bound: float, level: float
) -> list[Evidence]:
    """Of each prompt with a label; ``beyond`` is adjusted for their number."""
    each = [
        None if counts is None else _of_one(metric, of, counts, bound, level) for counts in members
    ]
    beyond = [1.0 if one.beyond is None else one.beyond for one in each if one is not None]
    adjusted = iter(statistics.benjamini_hochberg(beyond).tolist())
    return [
        Evidence(None, None) if one is None else Evidence(next(adjusted), one.within)
        for one in each
    ]


# Prompts of a run have few counts between them.
@lru_cache(maxsize=4096)
def _of_one(metric: str, of: IntervalOf, counts: Counted, bound: float, level: float) -> Evidence:
    return inverted(partial(of, counts), INFO[metric].worse)(bound, level)


def shares_of_model(samples: DetectedPrompts) -> dict[str, Interval]:
    """Share of each of the detector's groups over all prompts; {} with fewer than two labels.

    Whole prompts are resampled, as images of one prompt are alike.
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
