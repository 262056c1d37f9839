"""Detectors on trial as the page shows them: a table like Lyu Tables 1 to 3, and the mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_t2i.data import Interval
from pytest_t2i.reporting.formatting import MINUS, reason_words, said
from pytest_t2i.reporting.pictures import Picture, link
from pytest_t2i.reporting.thumbnails import thumbnails
from pytest_t2i.runs.record import MistakeRecord, RunRecord, TrialRecord

SHOWN = 60
"""Mistakes of one detector that are shown; run.json has them all."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A number with its interval."""

    value: str
    interval: str
    best: bool = False
    """Whether no other detector of the run does better."""


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One detector."""

    detector: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Mistakes:
    """Images of which one detector says something else than people do."""

    detector: str
    note: str
    pictures: tuple[Picture, ...]
    left_out: int


FILTER = ("Precision", "Recall", "F1", "Filter rate")
SCORES = ("Model bias score", "Deviation", "Prompt bias difference")
SMALLER_IS_BETTER = SCORES[1:]
NO_BEST = SCORES[:1]


def columns(record: RunRecord) -> tuple[str, ...]:
    """The filter, the accuracy on each label, and bias scores where labels are of gender."""
    labels = tuple(_labels(record))
    accuracies = tuple(f"Accuracy, {x}" if x == labels[0] else x for x in labels)
    scores = SCORES if set(labels) == {"male", "female"} else ()
    return (*FILTER, *accuracies, "overall", *scores)


def _labels(record: RunRecord) -> list[str]:
    return list(record.trials[0].accuracy_by_label) if record.trials else []


def trial_note(record: RunRecord) -> str:
    """What the detectors were tried on."""
    if not record.trials:
        return ""
    first = record.trials[0]
    actual = first.actual_model_bias_score
    score = f" By them the model bias score is {actual.estimate:.3f}." if actual else ""
    return (
        f"{first.images} images of {first.prompts} prompts with people's labels, {first.clear} of "
        f"them clear.{score}"
    )


def trial_rows(record: RunRecord) -> list[TrialRow]:
    """One row per detector; the best of each column is marked."""
    values = [_values(trial) for trial in record.trials]
    names = columns(record)
    best = [_best(name, [row[k] for row in values]) for k, name in enumerate(names)]
    return [
        TrialRow(
            trial.detector,
            tuple(
                _cell(name, interval, row_number in best[number])
                for number, (name, interval) in enumerate(
                    zip(names, values[row_number][: len(names)], strict=True)
                )
            ),
        )
        for row_number, trial in enumerate(record.trials)
    ]


def mistakes(record: RunRecord, folder: Path) -> list[Mistakes]:
    """The images that each detector gets wrong."""
    shown = {trial.detector: trial.mistakes[:SHOWN] for trial in record.trials}
    small = thumbnails(m.file for part in shown.values() for m in part)
    return [
        Mistakes(
            trial.detector,
            _kinds(trial),
            tuple(_picture(m, small, folder) for m in shown[trial.detector]),
            len(trial.mistakes) - len(shown[trial.detector]),
        )
        for trial in record.trials
        if trial.mistakes
    ]


def _values(trial: TrialRecord) -> tuple[Interval | None, ...]:
    return (
        trial.filter_precision,
        trial.filter_recall,
        trial.filter_f1,
        trial.filter_rate,
        *trial.accuracy_by_label.values(),
        trial.accuracy,
        trial.model_bias_score,
        trial.percent_deviation,
        trial.prompt_bias_difference,
    )


def _best(name: str, column: list[Interval | None]) -> set[int]:
    known = {row: interval.estimate for row, interval in enumerate(column) if interval is not None}
    if len(column) < 2 or not known or name in NO_BEST:  # noqa: PLR2004 - best of one is no news
        return set()
    if name in SMALLER_IS_BETTER:
        known = {row: -abs(value) for row, value in known.items()}
    top = max(known.values())
    return {row for row, value in known.items() if value == top}


def _cell(name: str, interval: Interval | None, best: bool) -> Cell:
    if interval is None:
        return Cell("\u2013", "")
    if name == "Deviation":
        ends = f"{interval.low:+.1f}, {interval.high:+.1f}"
        return Cell(_minus(f"{interval.estimate:+.1f} %"), _minus(f"[{ends}]"), best)
    text = f"[{interval.low:.3f}, {interval.high:.3f}]"
    return Cell(f"{interval.estimate:.3f}", text, best)


def _minus(text: str) -> str:
    return text.replace("-", MINUS)


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


def _picture(mistake: MistakeRecord, small: Mapping[str, str], folder: Path) -> Picture:
    uri = small.get(mistake.file)
    truth = reason_words(mistake.label)
    reason = f" ({mistake.reason})" if mistake.reason else ""
    return Picture(
        seed=None,
        kind=mistake.label if mistake.label in ("male", "female") else "undetected",
        word=truth,
        others=(f"said {said(mistake.detection)}",),
        title=f"{Path(mistake.file).name}\npeople: {truth}{reason}\n{mistake.prompt}",
        uri=uri,
        link=link(mistake.file, folder) if uri else None,
        absent="file gone or unreadable",
    )
