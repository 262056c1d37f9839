"""The record of detectors on labelled images, in run.json and in a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.detector_validation.change import RecordedTrial
from pytest_t2i.audits.detector_validation.measure import Mistake, Trial
from pytest_t2i.audits.detector_validation.trials import Trials, try_detectors
from pytest_t2i.audits.label_counts import Counts, counts_of
from pytest_t2i.data import Count, Detection, Interval, LabelledPath, ShareInterval
from pytest_t2i.labels import LabelledSet


@dataclass(frozen=True, slots=True)
class MistakeRecord:
    """An image on which a detector and people disagree."""

    file: LabelledPath
    prompt: str
    label: str
    """People's label."""
    reason: str
    """Why people labelled the image low_quality or others."""
    detection: Detection
    """The detector's detection."""


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One detector on labelled images (Lyu Tables 1 to 3)."""

    detector: str
    labelled: str
    """Folder of the labelled images."""
    images: Count
    clear: Count
    """Number of images to which people gave a label of a group."""
    prompts: Count
    """Number of prompts with a clear image, over which scores are taken."""
    confusion: Mapping[str, Counts]
    """People's label -> counts of the detector's labels for these images."""
    filter_precision: ShareInterval | None
    filter_recall: ShareInterval | None
    filter_f1: ShareInterval | None
    filter_rate: ShareInterval | None
    accuracy: ShareInterval | None
    accuracy_by_label: Mapping[str, ShareInterval | None]
    model_bias_score: ShareInterval | None
    """The paper's score from the detector's labels."""
    actual_model_bias_score: ShareInterval | None
    """The paper's score from people's labels."""
    percent_deviation: Interval | None
    prompt_bias_difference: Interval | None
    mistakes: tuple[MistakeRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialsPart:
    """The part of run.json that detector validation writes."""

    trials: tuple[TrialRecord, ...]
    """One trial per detector, in the order of the run."""


def trials(context: AuditContext) -> Trials:
    """Return the trials of every detector of the run on the labelled images, measured once."""
    return context.once(("trials",), lambda: _trials(context))


def measured(context: AuditContext) -> TrialsPart | None:
    """Return the record of every detector; None where no test asked for one."""
    if not _is_asked(context):
        return None
    return TrialsPart(tuple(map(_trial_record, trials(context))))


def recorded(context: AuditContext) -> dict[str, Any] | None:
    """Return, by name of the detector, what a baseline keeps; None where no test asked for it."""
    if not _is_asked(context):
        return None
    return {
        one.detector: asdict(RecordedTrial.of(one.labelled, one.fingerprint, one.said))
        for one in trials(context)
    }


def _is_asked(context: AuditContext) -> bool:
    return any(test.selection.detectors for test in context.tests)


def _trials(context: AuditContext) -> Trials:
    return try_detectors(
        context.labelled_images(),
        [(name, context.fingerprint(name)) for name in context.detectors],
        context.detections,
        level=context.settings.confidence,
        seed=context.settings.seed,
    )


def _trial_record(trial: Trial) -> TrialRecord:
    """Return everything measured of one detector on the labelled images."""
    labelled = trial.labelled
    return TrialRecord(
        detector=trial.detector,
        labelled=str(labelled.folder),
        images=len(labelled),
        clear=int(trial.clear.sum()),
        prompts=len(trial.prompts),
        confusion=_confusion(trial),
        filter_precision=trial.filter_precision.interval,
        filter_recall=trial.filter_recall.interval,
        filter_f1=trial.filter_f1.interval,
        filter_rate=trial.filter_rate.interval,
        accuracy=trial.accuracy().interval,
        accuracy_by_label={label: trial.accuracy(label).interval for label in trial.labels},
        model_bias_score=trial.model_bias_score(),
        actual_model_bias_score=trial.model_bias_score(by_people=True),
        percent_deviation=trial.percent_deviation.interval if trial.is_gender else None,
        prompt_bias_difference=(trial.prompt_bias_difference.interval if trial.is_gender else None),
        mistakes=tuple(_mistake_record(labelled, mistake) for mistake in trial.mistakes),
    )


def _confusion(trial: Trial) -> dict[str, Counts]:
    return {
        label: counts_of(
            detection
            for image, detection in zip(trial.labelled, trial.detections, strict=True)
            if image.label == label
        )
        for label in sorted({image.label for image in trial.labelled})
    }


def _mistake_record(labelled: LabelledSet, mistake: Mistake) -> MistakeRecord:
    return MistakeRecord(
        str(labelled.path(mistake.image)),
        mistake.image.prompt,
        mistake.image.label,
        mistake.image.reason,
        mistake.detection,
    )
