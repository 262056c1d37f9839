"""The making of parity's record of a run: scores, groups, cells, people's labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.largest_samples import widest_of
from pytest_t2i.audits.parity.correction import given_correction
from pytest_t2i.audits.parity.measure import of_model
from pytest_t2i.audits.parity.record import (
    CellRecord,
    CellsRecord,
    CorrectedPrompt,
    CorrectionRecord,
    ModelScore,
    ParityPart,
    SensitivityRecord,
)
from pytest_t2i.audits.parity.recording_groups import (
    recorded_correction,
    recorded_crossings,
    recorded_groups,
    tells_gender,
)
from pytest_t2i.audits.parity.sensitivity import sensitivity
from pytest_t2i.audits.parity.weighted_correction import WeightedCorrection
from pytest_t2i.audits.samples import Samples
from pytest_t2i.labels import LabelledSet
from pytest_t2i.metrics import prompt_bias_score


def measured(context: AuditContext) -> ParityPart | None:
    """Return the record over all prompts of a run; None where no test asks for any."""

    def samples(detector: str) -> Samples:
        return _all_samples(context, detector)

    part = ParityPart(
        tuple(_model_scores(context)),
        tuple(recorded_groups(context, samples)),
        tuple(_cells(context)),
        tuple(_sensitivity(context)),
        _correction(context),
        crossed=tuple(recorded_crossings(context, samples)),
        group_correction=recorded_correction(context, samples),
    )
    return part if part != ParityPart() else None


def _model_scores(context: AuditContext) -> Iterator[ModelScore]:
    """Yield the scores over all prompts and axis by axis, by each detector."""
    for detector in context.detectors:
        samples = _all_samples(context, detector)
        if not samples.members:
            return
        if not tells_gender(context, detector):
            continue
        labelled = context.given_labels if detector == context.detectors[0] else None
        yield _score("model", detector, samples, labelled)
        if len(axes := samples.by_axis()) > 1:
            yield from (_score(name, detector, part, labelled) for name, part in axes.items())


def _score(name: str, detector: str, samples: Samples, labelled: LabelledSet | None) -> ModelScore:
    """Return a score; people's labels correct it, with the detector's own kept as uncorrected."""
    by_people = given_correction(samples, labelled)
    # What people's labels correct is what is judged.
    own = samples.interval("corrected" if by_people is None else samples.estimator)
    corrected = (
        None if by_people is None else of_model(samples, samples.estimator, by_people).interval
    )
    return ModelScore(
        name,
        detector,
        corrected or own,
        samples.interval("paper"),
        samples.floor,
        len(samples) - len(samples.without_verdict),
        samples.clear_images,
        samples.worst_case if corrected is None else None,
        None if corrected is None else own,
    )


def _all_samples(context: AuditContext, detector: str) -> Samples:
    """Return the samples of every prompt of the run, each once.

    After early stopping, a prompt's number of images depends on what they show. Therefore each
    prompt has the smallest number among them, at the level of that look.
    """
    settings, pairs = context.settings, _every_prompt(context)
    level, sequential = settings.confidence, False
    if settings.sequential and pairs:
        fewest = min((test for _, test in pairs), key=lambda test: test.images)
        pairs = [(prompt, fewest) for prompt, _ in pairs]
        level, sequential = context.level(fewest), fewest.sequential
    return Samples(
        members=tuple(context.one_sample(p, test, detector) for p, test in pairs),
        level=level,
        seed=settings.seed,
        words=settings.words,
        sequential=sequential,
        estimator=settings.estimator,
        detectors=context.detectors,
    )


def _every_prompt(context: AuditContext) -> list[tuple]:  # type: ignore[type-arg]
    """Return every prompt once, with the test that asks for most images of it."""
    return widest_of((p, test) for test in context.tests for p in test.selection.prompts)


def _sensitivity(context: AuditContext) -> Iterator[SensitivityRecord]:
    """Yield the record for each limit on the model bias score of the run's prompts."""
    bounds = {
        check.bound
        for check in context.checks
        if (check.metric, check.subject, check.against) == ("model_bias_score", "model", "limit")
    }
    if not bounds:
        return
    scored = [(name, _all_samples(context, name)) for name in context.detectors]
    labelled = context.given_labels
    yield from (sensitivity(scored, bound, labelled) for bound in sorted(bounds))


def _cells(context: AuditContext) -> Iterator[CellsRecord]:
    """Yield a table for each two crossed axes."""
    tables: dict[tuple[str, str], list[CellRecord]] = {}
    for prompt, test in _every_prompt(context):
        if len(prompt.parts) == 2:  # noqa: PLR2004 - a table has rows and columns
            (rows, row), (columns, column) = prompt.parts
            share = context.one_sample(prompt, test).share_of_men
            cell = CellRecord(prompt.id, row, column, share)
            tables.setdefault((rows, columns), []).append(cell)
    for (rows, columns), cells in tables.items():
        yield CellsRecord(rows, columns, tuple(cells))


def _correction(context: AuditContext) -> CorrectionRecord | None:
    """Return the correction of the model bias score; None without labels of the run's images."""
    labelled, detector = context.given_labels, context.detectors[0]
    corrected = given_correction(_all_samples(context, detector), labelled)
    if corrected is None or labelled is None:
        return None
    if isinstance(corrected, WeightedCorrection):
        return _weighted_correction(corrected, detector)
    scores = corrected.scores
    samples = _all_samples(context, detector)
    model = of_model(samples, samples.estimator, corrected).interval
    prompts = tuple(
        CorrectedPrompt(
            sample.prompt.id,
            sum(corrected.labels_of_prompt(sample.prompt).values()),
            prompt_bias_score(sample.male, sample.female),
            replace(sample, corrected=corrected.of_prompt(sample.prompt)).bias_interval or interval,
        )
        for sample, interval in zip(corrected.samples, scores.prompts, strict=True)
    )
    return CorrectionRecord(
        labelled=str(labelled.folder),
        detector=detector,
        labels=corrected.labels,
        left_out=corrected.left_out,
        by_detector=scores.detector,
        corrected=model or scores.model,
        adjusted=None,
        labels_to_halve=scores.labels_to_halve,
        prompts=prompts,
        annotators=len(labelled.annotators),
        accuracy=corrected.accuracy,
    )


def _weighted_correction(corrected: WeightedCorrection, detector: str) -> CorrectionRecord:
    """Return the record of a weighted correction; such images do not show plain accuracy."""
    return CorrectionRecord(
        labelled=str(corrected.labelled.folder),
        detector=detector,
        labels=corrected.labels,
        left_out=0,
        by_detector=corrected.by_detector,
        corrected=corrected.interval(corrected.samples.level),
        adjusted=None,
        # Four times the labels halve a standard error.
        labels_to_halve=3 * corrected.score.labels,
        annotators=len(corrected.labelled.annotators),
    )
