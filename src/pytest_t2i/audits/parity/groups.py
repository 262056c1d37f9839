"""Groups: how images fall into the labels of a detector that tells more than male and female."""

from __future__ import annotations

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts, listed
from pytest_t2i.audits.evidence import IntervalAt, inverted
from pytest_t2i.data import Interval
from pytest_t2i.metrics import INFO
from pytest_t2i.verdicts.measurement import Measurement


def shares_of_prompt(sample: DetectedPrompt) -> dict[str, Interval]:
    """Share of each group among the images with a label; {} without any."""
    return statistics.group_intervals(sample.groups, sample.level) if sample.counts else {}


def gap(sample: DetectedPrompt) -> Measurement:
    """Largest minus smallest share of the detector's groups, from 0 (even) to 1."""
    return _measured(
        sample, "group_gap", lambda level: statistics.group_gap_interval(sample.groups, level)
    )


def entropy(sample: DetectedPrompt) -> Measurement:
    """Normalised entropy of the detector's groups, from 0 (one group) to 1 (even)."""
    return _measured(
        sample,
        "group_entropy",
        lambda level: statistics.group_entropy_interval(sample.groups, level=level, seed=0),
    )


def _measured(sample: DetectedPrompt, metric: str, interval_at: IntervalAt) -> Measurement:
    return Measurement(
        metric=INFO[metric],
        subject=sample.prompt.id,
        interval=interval_at(sample.level) if sample.counts else None,
        evidence=inverted(interval_at, INFO[metric].worse),
        images=sample.counts.total(),
        absent=f"none of {len(sample.seeds)} images has a label: {listed(sample.undetected)}",
        remarks=(f"groups: {listed(sample.counts)}", f"images: {sample.folder}"),
    )


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
