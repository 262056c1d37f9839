"""A detector's trial as the record of a run keeps it."""

from __future__ import annotations

from pytest_t2i.audits.detector_validation import Trial
from pytest_t2i.runs.build_scores import counts_of
from pytest_t2i.runs.record import MistakeRecord, TrialRecord


def trial_record(trial: Trial) -> TrialRecord:
    """Everything measured of one detector on the labelled images."""
    labelled = trial.labelled
    return TrialRecord(
        detector=trial.detector,
        labelled=str(labelled.folder),
        images=len(labelled),
        clear=int(trial.clear.sum()),
        prompts=len(trial.prompts),
        confusion={
            label: counts_of(
                detection
                for image, detection in zip(labelled, trial.detections, strict=True)
                if image.label == label
            )
            for label in sorted({image.label for image in labelled})
        },
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
        mistakes=tuple(
            MistakeRecord(
                str(labelled.path(mistake.image)),
                mistake.image.prompt,
                mistake.image.label,
                mistake.image.reason,
                mistake.detection,
            )
            for mistake in trial.mistakes
        ),
    )
