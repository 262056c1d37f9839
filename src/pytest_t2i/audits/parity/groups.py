"""Shares of a detector's groups, for detectors with labels other than male and female."""

from __future__ import annotations

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompts
from pytest_t2i.data import Interval


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
