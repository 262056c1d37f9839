"""Gaps of a detector between the groups that people labelled."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_t2i.audits.detector_validation.measure import Trial, outcomes
from pytest_t2i.data import Interval
from pytest_t2i.statistics.gaps import parity_difference_interval

FEWEST = 2
"""Smallest number of groups for a gap."""


def accuracy_gap(trial: Trial) -> Interval | None:
    """Return the largest accuracy of a group minus the smallest, on images clear and kept.

    Returns None where fewer than two groups have such an image.
    """
    return _gap(trial, "accuracy")


def undetected_gap(trial: Trial) -> Interval | None:
    """Return the largest share of undetected clear images of a group, minus the smallest.

    Returns None where fewer than two groups have a clear image.
    """
    return _gap(trial, "filter_recall")


def _gap(trial: Trial, metric: str) -> Interval | None:
    groups: Mapping[str, list[bool]] = {
        label: list(outcomes(metric, trial.labelled, trial.said, label).values())
        for label in trial.labels
    }
    known = {label: [[int(one) for one in of]] for label, of in groups.items() if of}
    if len(known) < FEWEST:
        return None
    return parity_difference_interval(known, level=trial.level, seed=trial.seed)
