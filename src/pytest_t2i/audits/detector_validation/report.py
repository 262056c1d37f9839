"""The report of detector validation: a table like Lyu Tables 1 to 3, and the mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.detector_validation.change import RecordedTrial
from pytest_t2i.audits.detector_validation.measure import Mistake, Trial
from pytest_t2i.audits.detector_validation.trials import Trials, try_detectors
from pytest_t2i.audits.peoples_labels import told_accuracy
from pytest_t2i.audits.shared_blocks import Counts, counts_of
from pytest_t2i.audits.summary import Frame, Summary
from pytest_t2i.data import Count, Detection, Interval, LabelledPath, Share, ShareInterval
from pytest_t2i.labels import LabelledSet
from pytest_t2i.sections import Album, Block, Column, Note, Paragraph, Picture, Section, Table
from pytest_t2i.sections.words import reason_words, said, several


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
    model_bias_score: Share | None
    """The paper's score from the detector's labels."""
    actual_model_bias_score: Share | None
    """The paper's score from people's labels."""
    percent_deviation: Interval | None
    prompt_bias_difference: Interval | None
    mistakes: tuple[MistakeRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialsPart:
    """The part of run.json that detector validation writes."""

    trials: tuple[TrialRecord, ...]
    """One trial per detector, in the order of the run."""


def trials(context: AuditContext, test: AskedTest | None = None) -> Trials:
    """Return the trials of every detector of the run on the labelled images, measured once."""
    del test
    return context.once(("trials",), lambda: _trials(context))


def trial(context: AuditContext, test: AskedTest) -> Trial:
    """Return the trial of the one detector of a test."""
    return trials(context)[test.selection.detectors[0]]


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
        trial.detector: asdict(RecordedTrial.of(trial.labelled, trial.fingerprint, trial.said))
        for trial in trials(context)
    }


def _is_asked(context: AuditContext) -> bool:
    return any(test.selection.detectors for test in context.tests)


def _trials(context: AuditContext) -> Trials:
    return try_detectors(
        context.labelled_images(),
        [(name, context.fingerprint(name)) for name in context.detectors],
        context.detections,
        level=context.settings.interval_level,
        seed=context.settings.seed,
        asked_twice=context.asked_twice,
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


SHOWN = 60
"""Largest number of a detector's mistakes that are shown; run.json has them all."""
FILTER = tuple(Column(name, "high") for name in ("Precision", "Recall", "F1", "Filter rate"))
SCORES = (
    Column("Model bias score"),
    Column("Deviation", "zero", "signed percent"),
    Column("Prompt bias difference", "low"),
)
READ = (
    "The filter keeps clear images and drops the others; accuracy is over images both clear and "
    "kept; deviation is that of the model bias score. The best of each column is bold."
)
PICTURES = "The frame and the first word show people's label, the line below the detector's."


def sections(part: TrialsPart, run: Any) -> Sequence[Section]:  # noqa: ARG001 - as it is called
    """Return one section: the table, and an album of each detector's mistakes."""
    if not part.trials:
        return ()
    blocks: tuple[Block, ...] = (
        Note(f"{_tried_on(part.trials[0])} {READ}"),
        *(Paragraph(_told(trial), "summary") for trial in part.trials),
        _table(part),
        *(_album(trial) for trial in part.trials if trial.mistakes),
    )
    return (Section("Detector evaluation", blocks),)


def _tried_on(first: TrialRecord) -> str:
    actual = first.actual_model_bias_score
    score = "" if actual is None else f" By them the model bias score is {actual:.3f}."
    return (
        f"{several(first.images, 'image')} of {several(first.prompts, 'prompt')} with people's "
        f"labels, {first.clear} of them clear.{score}"
    )


def _told(trial: TrialRecord) -> str:
    """Return the results of a detector on the labelled images, in a line."""
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


def _table(part: TrialsPart) -> Table:
    """Return the table of filter, accuracy per label and, for gender labels, bias scores."""
    labels = _labels(part)
    accuracies = [
        Column(label if k else f"Accuracy, {label}", "high") for k, label in enumerate(labels)
    ]
    scores = SCORES if set(labels) == {"male", "female"} else ()
    columns = (Column("Detector"), *FILTER, *accuracies, Column("overall", "high"), *scores)
    rows = tuple((t.detector, *_values(t, labels)[: len(columns) - 1]) for t in part.trials)
    return Table.of("Detectors against people's labels", columns, rows)


def _labels(part: TrialsPart) -> list[str]:
    return list(dict.fromkeys(label for t in part.trials for label in t.accuracy_by_label))


def _values(trial: TrialRecord, labels: Sequence[str]) -> tuple[Interval | float | None, ...]:
    return (
        trial.filter_precision,
        trial.filter_recall,
        trial.filter_f1,
        trial.filter_rate,
        *(trial.accuracy_by_label.get(label) for label in labels),
        trial.accuracy,
        trial.model_bias_score,
        trial.percent_deviation,
        trial.prompt_bias_difference,
    )


def _album(trial: TrialRecord) -> Album:
    """Return the album of the images that a detector gets wrong."""
    mistakes = trial.mistakes[:SHOWN]
    left_out = len(trial.mistakes) - len(mistakes)
    return Album(trial.detector, tuple(map(_picture, mistakes)), _kinds(trial), PICTURES, left_out)


def _kinds(trial: TrialRecord) -> str:
    through = sum(m.label not in trial.accuracy_by_label for m in trial.mistakes)
    lost = sum(m.detection.undetected is not None for m in trial.mistakes)
    wrong = len(trial.mistakes) - through - lost
    parts = (
        (lost, "clear but filtered out"),
        (through, "not clear but kept"),
        (wrong, "wrong label"),
    )
    return ", ".join(f"{count} {words}" for count, words in parts if count)


def _picture(mistake: MistakeRecord) -> Picture:
    truth = reason_words(mistake.label)
    reason = f" ({mistake.reason})" if mistake.reason else ""
    return Picture(
        None,
        truth,
        (f"said {said(mistake.detection)}",),
        f"{Path(mistake.file).name}\npeople: {truth}{reason}\n{mistake.prompt}",
        mistake.label if mistake.label in ("male", "female") else "undetected",
        mistake.file,
    )


def summary(part: TrialsPart) -> Summary:
    """Return the table without the mistakes, and the accuracy of each detector in words."""
    most = max((trial.images for trial in part.trials), default=0)
    return Summary(
        frames={"trials": _frame(part)},
        measured={t.detector: told_accuracy(t.images, t.accuracy_by_label) for t in part.trials},
        labels=f"detectors were tried on {most} labelled images" if most else "",
    )


def _frame(part: TrialsPart) -> Frame:
    labels = _labels(part)
    columns = (
        "detector", "images", "clear", "prompts", "filter_precision", "filter_recall", "filter_f1",
        "filter_rate", *(f"accuracy_{label}" for label in labels), "accuracy", "model_bias_score",
        "percent_deviation", "prompt_bias_difference",
    )  # fmt: skip
    rows = [(t.detector, t.images, t.clear, t.prompts, *_values(t, labels)) for t in part.trials]
    return Frame(columns, rows)
