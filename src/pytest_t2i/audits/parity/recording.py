"""Measure everything that the record of parity holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from pytest_t2i.audits.bias import Bias, floor_of_samples, share_of_men
from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.distance import EVEN
from pytest_t2i.audits.parity import groups
from pytest_t2i.audits.parity.correction import Correction, given_correction
from pytest_t2i.audits.parity.record import (
    CellRecord,
    CellsRecord,
    CorrectedPrompt,
    CorrectionRecord,
    GroupPrompt,
    GroupsRecord,
    ModelScoreRecord,
    ParityPart,
)
from pytest_t2i.audits.samples import Sample, Samples
from pytest_t2i.audits.score import (
    interval_of,
    mean_interval_of,
    of_member,
    of_model,
    worst_case_of,
)
from pytest_t2i.audits.shared_blocks import widest_of
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.labels import CLEAR
from pytest_t2i.metrics import model_bias_score, prompt_bias_score

SamplesOf = Callable[[str], Samples]
"""Detector -> its samples of every prompt of the run."""


def _tells_gender(context: AuditContext, detector: str) -> bool:
    """Return whether a detector has the labels male and female, which bias scores need."""
    return set(CLEAR) <= set(context.observations.labels(DetectorRef(detector)))


def _recorded_groups(context: AuditContext, samples_of: SamplesOf) -> Iterator[GroupsRecord]:
    """Yield the groups of each detector with labels other than male and female."""
    for detector in context.detectors:
        if set(context.observations.labels(DetectorRef(detector))) == set(CLEAR):
            continue
        samples = samples_of(detector)
        shares = groups.shares_of_model(samples)
        if len(shares) > 1:
            prompts = sorted(map(_prompt, samples), key=_furthest_first)
            yield GroupsRecord(
                detector,
                shares,
                mean_interval_of(EVEN, samples),
                tuple(prompts),
            )


def _prompt(sample: Sample) -> GroupPrompt:
    distance = of_member(EVEN, sample).interval
    return GroupPrompt(sample.prompt.id, sample.counts.total(), sample.groups, distance)


def _furthest_first(prompt: GroupPrompt) -> tuple[float, str]:
    return (-prompt.distance.estimate if prompt.distance else 1.0, prompt.id)


def measured(context: AuditContext) -> ParityPart | None:
    """Return the record over all prompts of a run; None where no test asks for any."""

    def samples(detector: str) -> Samples:
        return _all_samples(context, detector)

    part = ParityPart(
        tuple(_model_scores(context)),
        tuple(_recorded_groups(context, samples)),
        tuple(_cells(context)),
        _correction(context),
    )
    return part if part != ParityPart() else None


def _model_scores(context: AuditContext) -> Iterator[ModelScoreRecord]:
    """Yield the scores over all prompts and axis by axis, by each detector."""
    for detector in context.detectors:
        samples = _all_samples(context, detector)
        if not samples.members:
            return
        if not _tells_gender(context, detector):
            continue
        labelled = context.given_labels if detector == context.detectors[0] else None
        by_people = given_correction(samples, labelled)
        yield _score("model", detector, samples, by_people)
        if len(axes := samples.by_axis()) > 1:
            yield from (_score(name, detector, part, by_people) for name, part in axes.items())


def _score(
    name: str, detector: str, samples: Samples, by_people: Correction | None
) -> ModelScoreRecord:
    """Return a score; people's labels correct it, with the detector's own kept as uncorrected."""
    # What people's labels correct is what is judged.
    uncorrected = mean_interval_of(Bias(), samples)
    corrected = None if by_people is None else of_model(Bias(), samples, by_people).interval
    return ModelScoreRecord(
        name,
        detector,
        corrected or uncorrected,
        model_bias_score(samples.male, samples.female) if samples.clear_images else None,
        floor_of_samples(samples),
        len(samples) - len(samples.without_verdict),
        samples.clear_images,
        worst_case_of(Bias(), samples) if corrected is None else None,
        None if corrected is None else uncorrected,
    )


def _all_samples(context: AuditContext, detector: str) -> Samples:
    """Return the samples of every prompt of the run, each once.

    After early stopping, a prompt's number of images depends on what they show. Therefore such a
    prompt has the images of its first look.
    """
    settings = context.settings
    pairs = widest_of((p, t.at_first_look) for t in context.tests for p in t.selection.prompts)
    return Samples(
        members=tuple(context.one_sample(p, test, detector) for p, test in pairs),
        level=settings.interval_level,
        seed=settings.seed,
    )


def _every_prompt(context: AuditContext) -> list[tuple]:  # type: ignore[type-arg]
    """Return every prompt once, with the test that asks for most images of it."""
    return widest_of((p, test) for test in context.tests for p in test.selection.prompts)


def _cells(context: AuditContext) -> Iterator[CellsRecord]:
    """Yield a table for each two crossed axes."""
    tables: dict[tuple[str, str], list[CellRecord]] = {}
    for prompt, test in _every_prompt(context):
        if len(prompt.parts) == 2:  # noqa: PLR2004 - a table has rows and columns
            (rows, row), (columns, column) = prompt.parts
            share = share_of_men(context.one_sample(prompt, test))
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
    scores = corrected.scores
    samples = _all_samples(context, detector)
    model = of_model(Bias(), samples, corrected).interval
    prompts = tuple(
        CorrectedPrompt(
            sample.prompt.id,
            sum(corrected.labels_of_prompt(sample.prompt).values()),
            prompt_bias_score(sample.male, sample.female),
            interval_of(Bias(), replace(sample, corrected=corrected.of_prompt(sample.prompt)))
            or interval,
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
        labels_to_halve=scores.labels_to_halve,
        prompts=prompts,
        annotators=len(labelled.annotators),
        accuracy=corrected.accuracy,
    )
