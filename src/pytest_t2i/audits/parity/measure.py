"""The rows of parity: scores of the model and its axes, groups, crossed prompts, corrections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pytest_t2i.audits.engine.bias import Bias, floor_of_samples, share_of_men
from pytest_t2i.audits.engine.context import AuditContext
from pytest_t2i.audits.engine.counts import widest_of
from pytest_t2i.audits.engine.distance import EVEN
from pytest_t2i.audits.engine.samples import Samples
from pytest_t2i.audits.engine.score import (
    interval_of,
    mean_interval_of,
    of_member,
    of_model,
    worst_case_of,
)
from pytest_t2i.audits.parity import groups
from pytest_t2i.audits.parity.correction import Correction, given_correction
from pytest_t2i.data import Interval, Row
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.labels import CLEAR
from pytest_t2i.metrics import model_bias_score, prompt_bias_score

SCORE, DISTANCE = "model_bias_score", "group_distance"
GROUP, MEN = "group_share", "share_of_men"
CORRECTED, CORRECTED_PROMPT, ACCURACY = (
    "corrected_model_bias_score", "corrected_prompt_bias_score", "accuracy",
)  # fmt: skip
"""Metrics of the rows."""
NO_LABEL = "no image with a label"


def measured_rows(context: AuditContext) -> Iterator[Row]:
    """Yield the rows over all prompts of a run, those of the deciding detector first."""
    for detector in context.detectors:
        samples = _all_samples(context, detector)
        if samples.members:
            yield from _scores(context, detector, samples)
            yield from _groups(context, detector, samples)
    for prompt, test in _every_prompt(context):
        if len(prompt.parts) == 2:  # noqa: PLR2004 - a table has rows and columns
            share = share_of_men(context.one_sample(prompt, test))
            absent = "" if share else "no clear image"
            yield Row(MEN, prompt.id, "prompt", share, dict(prompt.parts), {}, {}, absent)
    yield from _corrected(context)


def _tells_gender(context: AuditContext, detector: str) -> bool:
    """Return whether a detector has the labels male and female, which bias scores need."""
    return set(CLEAR) <= set(context.observations.labels(DetectorRef(detector)))


def _scores(context: AuditContext, detector: str, samples: Samples) -> Iterator[Row]:
    """Yield the scores over all prompts and axis by axis."""
    if not _tells_gender(context, detector):
        return
    labelled = context.given_labels if detector == context.detectors[0] else None
    by_people = given_correction(samples, labelled)
    yield _score("model", detector, samples, by_people)
    if len(axes := samples.by_axis()) > 1:
        yield from (_score(name, detector, part, by_people) for name, part in axes.items())


def _score(name: str, detector: str, samples: Samples, by_people: Correction | None) -> Row:
    """Return a score; people's labels correct it, with the detector's own kept as uncorrected.

    Where nothing is corrected, ``lowest`` and ``highest`` are the bounds of the paper's score,
    whatever the undetected images show.
    """
    # What people's labels correct is what is judged.
    uncorrected = mean_interval_of(Bias(), samples)
    corrected = None if by_people is None else of_model(Bias(), samples, by_people).interval
    worst = worst_case_of(Bias(), samples) if corrected is None else None
    clear = samples.clear_images
    facts: dict[str, Any] = {
        "name": "all" if name == "model" else name,
        "paper": model_bias_score(samples.male, samples.female) if clear else None,
        "fair_model": floor_of_samples(samples),
        "lowest": worst and worst.low,
        "highest": worst and worst.high,
    }
    if corrected is not None and uncorrected is not None:
        facts |= {"uncorrected": uncorrected.estimate}
    return Row(
        SCORE,
        name,
        "model" if name == "model" else "group",
        corrected or uncorrected,
        {"detector": detector},
        facts,
        {"prompts": len(samples) - len(samples.without_verdict), "clear_images": clear},
        "" if corrected or uncorrected else "no clear image",
    )


def _groups(context: AuditContext, detector: str, samples: Samples) -> Iterator[Row]:
    """Yield the groups of a detector with labels other than male and female."""
    if set(context.observations.labels(DetectorRef(detector))) == set(CLEAR):
        return
    dims, shares = {"detector": detector}, groups.shares_of_model(samples)
    if len(shares) < 2:  # noqa: PLR2004 - a share needs another one
        return
    counts = {name: sum(sample.groups.get(name, 0) for sample in samples) for name in shares}
    for name, share in shares.items():
        yield Row(GROUP, name, "group", share, dims, {"name": name}, {"images": counts[name]})
    yield Row(DISTANCE, "model", "model", mean_interval_of(EVEN, samples), dims, {}, counts)
    prompts = [
        Row(
            DISTANCE, sample.prompt.id, "prompt", distance, dims,
            {"name": sample.prompt.id, "labelled": sample.counts.total()},
            dict(sample.groups), "" if distance else NO_LABEL,
        )
        for sample in samples
        for distance in [of_member(EVEN, sample).interval]
    ]  # fmt: skip
    yield from sorted(prompts, key=_furthest_first)


def _furthest_first(row: Row) -> tuple[float, str]:
    return (-row.interval.estimate if row.interval else 1.0, row.subject)


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
    return widest_of((p, test) for test in context.tests for p in test.selection.prompts)


def _corrected(context: AuditContext) -> Iterator[Row]:
    """Yield what people's labels make of the scores; nothing without labels of the images."""
    labelled, detector = context.given_labels, context.detectors[0]
    samples = _all_samples(context, detector)
    corrected = given_correction(samples, labelled)
    if corrected is None or labelled is None:
        return
    scores = corrected.scores
    yield Row(
        CORRECTED,
        detector,
        "detector",
        of_model(Bias(), samples, corrected).interval or scores.model,
        {},
        {
            "labelled": str(labelled.folder),
            "by_detector": scores.detector,
            "labels_to_halve": scores.labels_to_halve,
        },
        {
            "labels": corrected.labels,
            "left_out": corrected.left_out,
            "annotators": len(labelled.annotators),
        },
    )
    for label, share in corrected.accuracy.items():
        absent = "" if share else NO_LABEL
        counts = {"labels": corrected.labels}
        yield Row(ACCURACY, detector, "detector", share, {"label": label}, {}, counts, absent)
    for sample, interval in zip(corrected.samples, scores.prompts, strict=True):
        by_people = replace(sample, corrected=corrected.of_prompt(sample.prompt))
        value: Interval = interval_of(Bias(), by_people) or interval
        by_detector = prompt_bias_score(sample.male, sample.female)
        labels = sum(corrected.labels_of_prompt(sample.prompt).values())
        yield Row(
            CORRECTED_PROMPT, sample.prompt.id, "prompt", value, {}, {"by_detector": by_detector},
            {"labels": labels},
        )  # fmt: skip
