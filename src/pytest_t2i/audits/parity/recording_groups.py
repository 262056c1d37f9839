"""The making of the record of a detector's groups: shares, prompts, crossings, people's labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.parity import even_groups
from pytest_t2i.audits.parity.crossed_labels import MOST_CELLS
from pytest_t2i.audits.parity.group_correction import given_group_correction, plain_share
from pytest_t2i.audits.parity.indices import INDICES
from pytest_t2i.audits.parity.record import (
    CrossedRecord,
    GroupCorrectionRecord,
    GroupPrompt,
    GroupsRecord,
)
from pytest_t2i.audits.samples import Sample, Samples
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.labels import CLEAR
from pytest_t2i.metrics import group_entropy, group_gap

SamplesOf = Callable[[str], Samples]
"""Detector -> its samples of every prompt of the run."""


def tells_gender(context: AuditContext, detector: str) -> bool:
    """Return whether a detector has the labels male and female, which bias scores need."""
    return set(CLEAR) <= set(context.observations.labels(DetectorRef(detector)))


def recorded_groups(context: AuditContext, samples_of: SamplesOf) -> Iterator[GroupsRecord]:
    """Yield the groups of each detector with labels other than male and female."""
    for detector in context.detectors:
        if set(context.observations.labels(DetectorRef(detector))) == set(CLEAR):
            continue
        samples = samples_of(detector)
        shares = samples.shares
        if len(shares) > 1:
            counts = {name: share.estimate for name, share in shares.items()}
            prompts = sorted(map(_prompt, samples), key=_furthest_first)
            yield GroupsRecord(
                detector,
                shares,
                group_gap(counts),
                group_entropy(counts),
                even_groups.interval_of_model(samples),
                tuple(prompts),
            )


def _prompt(sample: Sample) -> GroupPrompt:
    distance = sample.group_distance.interval
    indices = {name: index.interval(sample.groups, sample.level) for name, index in INDICES.items()}
    return GroupPrompt(sample.prompt.id, sample.counts.total(), sample.groups, distance, indices)


def _furthest_first(prompt: GroupPrompt) -> tuple[float, str]:
    return (-prompt.distance.estimate if prompt.distance else 1.0, prompt.id)


def recorded_crossings(context: AuditContext, samples_of: SamplesOf) -> Iterator[CrossedRecord]:
    """Yield the deciding detector crossed with each other detector that has other labels."""
    if not context.detectors:
        return
    first = context.detectors[0]
    own = context.observations.labels(DetectorRef(first))
    for second in context.detectors[1:]:
        labels = context.observations.labels(DetectorRef(second))
        if set(labels) == set(own) or len(labels) * len(own) > MOST_CELLS:
            continue
        both = samples_of(first).crossed(second)
        if both.members and (shares := both.shares):
            images = sum(sample.counts.total() for sample in both)
            distance = even_groups.interval_of_model(both)
            yield CrossedRecord(both.name, images, shares, distance)


def recorded_correction(
    context: AuditContext, samples_of: SamplesOf
) -> GroupCorrectionRecord | None:
    """Return the correction of a detector's groups; None without labels of the run's images."""
    labelled, detector = context.given_labels, context.detectors[0]
    samples = samples_of(detector)
    corrected = given_group_correction(samples, labelled)
    if corrected is None or labelled is None:
        return None
    plain = map(plain_share, corrected.shares.detector)
    return GroupCorrectionRecord(
        labelled=str(labelled.folder),
        detector=detector,
        labels=corrected.shares.labels,
        prompts=corrected.prompts,
        left_out=corrected.left_out,
        by_detector=dict(zip(corrected.groups, plain, strict=True)),
        corrected=dict(zip(corrected.groups, corrected.shares.shares, strict=True)),
        annotators=len(labelled.annotators),
        distance=even_groups.of_model(samples, corrected).interval,
        distance_by_detector=corrected.by_detector_alone,
        accuracy=corrected.accuracy,
    )
