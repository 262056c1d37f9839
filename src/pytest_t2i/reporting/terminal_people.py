"""Groups, people's labels and detectors on trial, each as a line of the terminal."""

from __future__ import annotations

from pytest_t2i.data import Interval
from pytest_t2i.reporting.formatting import interval_text
from pytest_t2i.runs.record import GroupsRecord, RunRecord, TrialRecord


def groups_line(groups: GroupsRecord) -> str:
    """Shares of a detector's groups, the largest first."""
    ranked = sorted(groups.shares.items(), key=lambda pair: -pair[1].estimate)
    shares = ", ".join(f"{name} {interval.estimate:.3f}" for name, interval in ranked)
    return f"groups by {groups.detector}: {shares} (entropy {groups.entropy:.2f}, even is 1)"


def correction_line(record: RunRecord) -> str:
    """The paper's score before and after people's labels; "" without any."""
    correction = record.correction
    if correction is None:
        return ""
    more = (
        f"; {correction.labels_to_halve} more labels would halve the interval"
        if correction.labels_to_halve
        else ""
    )
    judged = [c for c in record.checks if c.method.endswith("ppi++") and c.estimate is not None]
    both = "".join(f"; judged is {c.estimate:.3f} [{c.low:.3f}, {c.high:.3f}]" for c in judged[:1])
    return (
        f"by people's labels on {correction.labels} images: paper's score "
        f"{correction.by_detector:.3f} by the detector, "
        f"{interval_text(correction.corrected)} by people{both}{more}"
    )


def group_correction_line(record: RunRecord) -> str:
    """Shares of groups before and after people's labels; "" without any."""
    correction = record.group_correction
    if correction is None:
        return ""
    shares = ", ".join(
        f"{name} {_share(correction.by_detector[name])} -> {interval_text(share)}"
        for name, share in correction.corrected.items()
    )
    return f"by people's labels on {correction.labels} images, {correction.detector}: {shares}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"


def trial_line(trial: TrialRecord) -> str:
    """What a detector is worth on the labelled images."""
    groups = ", ".join(
        f"{label} {_estimate(interval)}" for label, interval in trial.accuracy_by_label.items()
    )
    off = trial.percent_deviation
    deviation = f"; model bias score off by {off.estimate:+.1f} %" if off else ""
    return (
        f"{trial.detector} on {trial.images} labelled images: F1 {_estimate(trial.filter_f1)}, "
        f"filter rate {_estimate(trial.filter_rate)}, accuracy {_estimate(trial.accuracy)} "
        f"({groups}){deviation}"
    )


def _estimate(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval.estimate:.3f}"
