"""Measure everything that the record of parity holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.bias import Bias, floor_of_samples, share_of_men
from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.detected import FEMALE, MALE
from pytest_t2i.audits.distance import EVEN
from pytest_t2i.audits.log_odds import probability_of_male
from pytest_t2i.audits.parity import groups
from pytest_t2i.audits.parity.correction import (
    WeightedCorrection,
    given_correction,
    given_group_correction,
)
from pytest_t2i.audits.parity.groups import INDICES, MOST_CELLS
from pytest_t2i.audits.parity.record import (
    CellRecord,
    CellsRecord,
    CorrectedPrompt,
    CorrectionRecord,
    CrossedRecord,
    GroupCorrectionRecord,
    GroupPrompt,
    GroupsRecord,
    ModelScoreRecord,
    ParityPart,
    SensitivityRecord,
    VariationRecord,
)
from pytest_t2i.audits.samples import Sample, Samples
from pytest_t2i.audits.score import (
    Tally,
    interval_of,
    mean_interval_of,
    of_member,
    of_model,
    worst_case_of,
)
from pytest_t2i.audits.shared_blocks import widest_of
from pytest_t2i.data import Detection, Interval, Outcome
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.labels import CLEAR, LabelledSet
from pytest_t2i.metrics import group_entropy, group_gap, model_bias_score, prompt_bias_score
from pytest_t2i.verdicts.judge import compare

SamplesOf = Callable[[str], Samples]
"""Detector -> its samples of every prompt of the run."""


def _tells_gender(context: AuditContext, detector: str) -> bool:
    """Return whether a detector has the labels male and female, which bias scores need."""
    return set(CLEAR) <= set(context.observations.labels(DetectorRef(detector)))


def recorded_groups(context: AuditContext, samples_of: SamplesOf) -> Iterator[GroupsRecord]:
    """Yield the groups of each detector with labels other than male and female."""
    for detector in context.detectors:
        if set(context.observations.labels(DetectorRef(detector))) == set(CLEAR):
            continue
        samples = samples_of(detector)
        shares = groups.shares_of_model(samples)
        if len(shares) > 1:
            counts = {name: share.estimate for name, share in shares.items()}
            prompts = sorted(map(_prompt, samples), key=_furthest_first)
            yield GroupsRecord(
                detector,
                shares,
                group_gap(counts),
                group_entropy(counts),
                mean_interval_of(EVEN, samples),
                tuple(prompts),
            )


def _prompt(sample: Sample) -> GroupPrompt:
    distance = of_member(EVEN, sample).interval
    counts = tuple(sample.groups.values())
    indices = {
        name: index.interval(Tally.even(counts), sample.level) for name, index in INDICES.items()
    }
    return GroupPrompt(sample.prompt.id, sample.counts.total(), sample.groups, distance, indices)


def _furthest_first(prompt: GroupPrompt) -> tuple[float, str]:
    return (-prompt.distance.estimate if prompt.distance else 1.0, prompt.id)


def _recorded_crossings(context: AuditContext, samples_of: SamplesOf) -> Iterator[CrossedRecord]:
    """Yield the deciding detector crossed with each other detector that has other labels."""
    if not context.detectors:
        return
    first = context.detectors[0]
    first_labels = context.observations.labels(DetectorRef(first))
    for second in context.detectors[1:]:
        labels = context.observations.labels(DetectorRef(second))
        if set(labels) == set(first_labels) or len(labels) * len(first_labels) > MOST_CELLS:
            continue
        crossing = groups.crossed(samples_of(first), context.detectors, second)
        if crossing.members and (shares := crossing.shares):
            images = sum(sample.counts.total() for sample in crossing)
            distance = mean_interval_of(EVEN, crossing)
            yield CrossedRecord(crossing.name, images, shares, distance)


def _recorded_correction(
    context: AuditContext, samples_of: SamplesOf
) -> GroupCorrectionRecord | None:
    """Return the correction of a detector's groups; None without labels of the run's images."""
    labelled, detector = context.given_labels, context.detectors[0]
    samples = samples_of(detector)
    corrected = given_group_correction(samples, labelled)
    if corrected is None or labelled is None:
        return None
    plain = (None if math.isnan(share) else share for share in corrected.shares.detector)
    return GroupCorrectionRecord(
        labelled=str(labelled.folder),
        detector=detector,
        labels=corrected.labels,
        prompts=len(corrected.samples),
        left_out=corrected.left_out,
        by_detector=dict(zip(corrected.numbers, plain, strict=True)),
        corrected=dict(zip(corrected.numbers, corrected.shares.shares, strict=True)),
        annotators=len(labelled.annotators),
        distance=of_model(EVEN, samples, corrected).interval,
        distance_by_detector=corrected.by_detector_alone,
        accuracy=corrected.accuracy,
    )


STRICTER = 0.9
"""Probability below which a label is not counted in the stricter filter (that of CLIP-Prob)."""


BY_PEOPLE, ALONE = "corrected by people's labels", ", without people's labels"


def sensitivity(
    by_detector: Sequence[tuple[str, Samples]],
    bound: float,
    labelled: LabelledSet | None = None,
) -> SensitivityRecord:
    """Return the model bias score of the same images under every choice of ``by_detector``."""
    first, judged_samples = by_detector[0]
    interval, judged = (
        _by_people(samples, labelled) for samples in (judged_samples, _as_judged(judged_samples))
    )
    people_variations = (
        []
        if interval is None
        else [VariationRecord(first, BY_PEOPLE, interval, _outcome(judged, bound))]
    )
    variations = people_variations + [
        VariationRecord(
            name, f"{choice}{ALONE if people_variations else ''}", interval, _outcome(judged, bound)
        )
        for place, (name, samples) in enumerate(by_detector)
        for (choice, interval), (_, judged) in zip(
            _choices(samples, stricter=place == 0),
            _choices(_as_judged(samples), stricter=place == 0),
            strict=True,
        )
    ]
    decided = {variation.outcome for variation in variations} - {Outcome.INCONCLUSIVE}
    return SensitivityRecord(bound, fragile=len(decided) > 1, variations=tuple(variations))


def _by_people(samples: Samples, labelled: LabelledSet | None) -> Interval | None:
    """Return the score as people's labels correct it; None where they do not."""
    correction = given_correction(samples, labelled)
    if correction is None:
        return None
    return of_model(Bias(), samples, correction).interval


def _as_judged(samples: Samples) -> Samples:
    """Return samples at the one-sided level of verdicts."""
    return replace(samples, level=statistics.one_sided(samples.level))


def _choices(samples: Samples, *, stricter: bool) -> Iterator[tuple[str, Interval | None]]:
    yield "all labels", mean_interval_of(Bias(), samples)
    if stricter:
        male, female = _sure(samples)
        if np.any(male + female):
            yield (
                f"labels with a probability of at least {STRICTER:g} only",
                statistics.model_bias_interval(
                    male,
                    female,
                    level=samples.level,
                    seed=samples.seed,
                ),
            )


def _sure(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Return the male and female images per prompt whose label has at least that probability."""

    def count(label: str) -> np.ndarray:
        return np.array(
            [
                sum(d.label == label and _probability(d, label) >= STRICTER for d in s.detections)
                for s in samples
            ]
        )

    return count(MALE), count(FEMALE)


def _probability(detection: Detection, label: str) -> float:
    """Return the probability of the label by the detector; 0 where it gives none."""
    if (probability := detection.scores.get(f"p({label})")) is not None:
        return probability
    male = probability_of_male(detection.scores)
    if male is None:
        return 0.0
    return male if label == MALE else 1.0 - male


def _outcome(interval: Interval | None, bound: float) -> Outcome:
    return Outcome.INCONCLUSIVE if interval is None else compare(interval, bound, "higher")


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
        crossed=tuple(_recorded_crossings(context, samples)),
        group_correction=_recorded_correction(context, samples),
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
        yield _score("model", detector, samples, labelled)
        if len(axes := samples.by_axis()) > 1:
            yield from (_score(name, detector, part, labelled) for name, part in axes.items())


def _score(
    name: str, detector: str, samples: Samples, labelled: LabelledSet | None
) -> ModelScoreRecord:
    """Return a score; people's labels correct it, with the detector's own kept as uncorrected."""
    by_people = given_correction(samples, labelled)
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
        level=settings.confidence,
        seed=settings.seed,
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
    if isinstance(corrected, WeightedCorrection):
        return _weighted_correction(corrected, detector)
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
