"""Detector validation: is a detector right about images that people have labelled?

It follows Lyu section 3.5, Tables 1 to 3. Tests use the fixtures ``trial`` and ``trials``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit, Fixture
from pytest_t2i.audits.engine.context import AuditContext
from pytest_t2i.audits.engine.rows import Rows, row_of_measurement
from pytest_t2i.data import Interval, Row, Undetected
from pytest_t2i.sections import Album, Block, Column, Note, Paragraph, Picture, Table
from pytest_t2i.sections.words import reason_words, said, several

if TYPE_CHECKING:
    from pytest_t2i.audits.detector_validation.measure import Mistake, Trial

SHOWN = 60
"""Largest number of a detector's mistakes that are shown."""
FILTER = {
    "filter_precision": Column("Precision", "high"),
    "filter_recall": Column("Recall", "high"),
    "filter_f1": Column("F1", "high"),
    "filter_rate": Column("Filter rate", "high"),
}
SCORES = {
    "model_bias_score": Column("Model bias score"),
    "percent_deviation": Column("Deviation", "zero", "signed percent"),
    "prompt_bias_difference": Column("Prompt bias difference", "low"),
}
"""Metric -> its column; scores are those of male and female labels alone."""
ACCURACY, KEPT = "accuracy", "kept_share"
"""Shares of right labels, and of images with a label by people that get any by the detector."""
PICTURES = "The frame and the first word show people's label, the line below the detector's."


class DetectorValidation(Audit):
    """The audit of every detector on labelled images: filter, labels and bias scores."""

    name = "detector_validation"
    place = 90
    fixtures = MappingProxyType(
        {
            "trial": Fixture(
                f"{__name__}.trials:trial",
                "detectors",
                one_by_one=True,
                doc="One detector on the labelled images; the test runs once per detector.",
            ),
            "trials": Fixture(
                f"{__name__}.trials:trials",
                "detectors",
                doc="Every detector on the labelled images.",
            ),
        }
    )
    title = "Detector evaluation"
    reading = (
        "The filter keeps clear images and drops the others; accuracy is over images both clear "
        "and kept; deviation is that of the model bias score. The best of each column is bold."
    )

    def rows(self, context: AuditContext) -> Iterator[Row | Block]:
        """Yield the rows of every detector, and an album of its mistakes."""
        from pytest_t2i.audits.detector_validation.trials import trials

        for trial in trials(context) if _is_asked(context) else ():
            yield from _rows(trial)
            if trial.mistakes:
                yield _album(trial)

    def recorded(self, context: AuditContext) -> dict[str, Any] | None:
        """Return what each detector said of each image, for a baseline."""
        from pytest_t2i.audits.detector_validation.change import RecordedTrial
        from pytest_t2i.audits.detector_validation.trials import trials

        if not _is_asked(context):
            return None
        return {
            trial.detector: asdict(RecordedTrial.of(trial.labelled, trial.fingerprint, trial.said))
            for trial in trials(context)
        }

    def in_words(self, rows: Rows) -> str:
        """Return nothing: each detector has a line of its own among the blocks."""
        del rows
        return ""

    def blocks(self, rows: Rows, run: Any) -> Sequence[Block]:
        """Return a line for each detector, the table, and an album of each detector's mistakes."""
        del run
        tried = _tried(rows)
        if not tried:
            return []
        lines = (Paragraph(_in_words(rows, row), "summary") for row in tried)
        return [Note(_tried_on(rows, tried[0])), *lines, _table(rows), *rows.pictures]


def _is_asked(context: AuditContext) -> bool:
    return any(test.selection.detectors for test in context.tests)


def _rows(trial: Trial) -> Iterator[Row]:
    """Yield everything measured of one detector on the labelled images."""
    from pytest_t2i.verdicts.baseline_file import as_text

    facts = {"labelled": str(trial.labelled.folder)}
    counts = {
        "images": len(trial.labelled), "clear": int(trial.clear.sum()),
        "prompts": len(trial.prompts),
    }  # fmt: skip
    for measurement in (trial.accuracy(), *(getattr(trial, metric) for metric in FILTER)):
        yield row_of_measurement(measurement, "detector", facts=facts, counts=counts)
    for label in trial.labels:
        dims = {"detector": trial.detector, "label": label}
        labels = {"labels": len(trial.labelled)}
        yield row_of_measurement(trial.accuracy(label), "detector", dims, counts=labels)
    if trial.is_gender:
        score, by_people = trial.model_bias_score(), trial.model_bias_score(by_people=True)
        absent = "" if score is not None else "no image is clear"
        facts_of_people = {"by_people": by_people}
        yield Row(
            "model_bias_score", trial.detector, "detector", score, {}, facts_of_people, {}, absent
        )
        yield row_of_measurement(trial.percent_deviation, "detector")
        yield row_of_measurement(trial.prompt_bias_difference, "detector")
    for label in sorted({image.label for image in trial.labelled}):
        words = {word: n for (of, word), n in trial.confusion.items() if of == label}
        lost = sum(n for word, n in words.items() if isinstance(word, Undetected))
        kept_share = 1.0 - lost / sum(words.values())
        subject, dims = f"{trial.detector} on {label}", {"detector": trial.detector, "label": label}
        said_of = {as_text(word): n for word, n in words.items()}
        yield Row(KEPT, subject, "detector", kept_share, dims, {}, said_of)


def table_of(trial: Trial) -> Table:
    """Return the table of one detector, for a command that evaluates it alone."""
    return _table(Rows.measured(_rows(trial)))


def _album(trial: Trial) -> Album:
    mistakes = trial.mistakes
    through = sum(not mistake.image.clear for mistake in mistakes)
    lost = sum(mistake.detection.undetected is not None for mistake in mistakes)
    parts = (
        (lost, "clear but filtered out"),
        (through, "not clear but kept"),
        (len(mistakes) - through - lost, "wrong label"),
    )
    note = ", ".join(f"{count} {words}" for count, words in parts if count)
    pictures = tuple(_picture(trial, mistake) for mistake in mistakes[:SHOWN])
    return Album(trial.detector, pictures, note, PICTURES, len(mistakes) - len(pictures))


def _picture(trial: Trial, mistake: Mistake) -> Picture:
    image = mistake.image
    file, truth = trial.labelled.path(image), reason_words(image.label)
    reason = f" ({image.reason})" if image.reason else ""
    return Picture(
        None,
        truth,
        (f"said {said(mistake.detection)}",),
        f"{file.name}\npeople: {truth}{reason}\n{image.prompt}",
        image.label if image.label in ("male", "female") else "undetected",
        str(file),
    )


def _tried(rows: Rows) -> list[Row]:
    return rows.of("filter_f1", "detector")


def _accuracies(rows: Rows, detector: str) -> dict[str, Interval | None]:
    return {
        str(row.dims["label"]): row.interval
        for row in rows.of(ACCURACY, "detector")
        if row.dims.get("detector") == detector and "label" in row.dims
    }


def _tried_on(rows: Rows, first: Row) -> str:
    score = rows.one("model_bias_score", first.subject)
    actual: Any = score.facts["by_people"] if score else None
    by_people = "" if actual is None else f" By them the model bias score is {actual:.3f}."
    images, prompts = (several(first.counts[f"{word}s"], word) for word in ("image", "prompt"))
    return (
        f"{images} of {prompts} with people's labels, {first.counts['clear']} of them "
        f"clear.{by_people}"
    )


def _in_words(rows: Rows, tried: Row) -> str:
    """Return the results of a detector on the labelled images, in a line."""

    def estimate(metric: str) -> str:
        row = rows.one(metric, tried.subject)
        return _estimate(row.interval if row else None)

    accuracies = _accuracies(rows, tried.subject)
    groups = ", ".join(f"{label} {_estimate(interval)}" for label, interval in accuracies.items())
    off = rows.one("percent_deviation", tried.subject)
    percent = off.interval if off else None
    deviation = f"; model bias score off by {percent.estimate:+.1f} %" if percent else ""
    return (
        f"{tried.subject} on {tried.counts['images']} labelled images: F1 {estimate('filter_f1')}, "
        f"filter rate {estimate('filter_rate')}, accuracy {estimate(ACCURACY)} "
        f"({groups}){deviation}"
    )


def _estimate(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval.estimate:.3f}"


def _table(rows: Rows) -> Table:
    """Return the table of filter, accuracy per label and, for gender labels, bias scores."""
    tried = [row.subject for row in _tried(rows)]
    accuracies = {name: _accuracies(rows, name) for name in tried}
    labels = list(dict.fromkeys(label for of in accuracies.values() for label in of))
    scores = SCORES if set(labels) == {"male", "female"} else {}
    columns = (
        Column("Detector"),
        *FILTER.values(),
        *(Column(label if k else f"Accuracy, {label}", "high") for k, label in enumerate(labels)),
        Column("overall", "high"),
        *scores.values(),
    )

    def value(metric: str, detector: str) -> Interval | float | None:
        row = rows.one(metric, detector)
        return row.value if row else None

    cells = tuple(
        (
            name,
            *(value(metric, name) for metric in FILTER),
            *(accuracies[name].get(label) for label in labels),
            value(ACCURACY, name),
            *(value(metric, name) for metric in scores),
        )
        for name in tried
    )
    return Table.of("Detectors against people's labels", columns, cells)
