"""Samples built from a run's images, and corrected by people's labels."""

from __future__ import annotations

from dataclasses import replace

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.detected import siblings_of
from pytest_t2i.audits.parity.correction import (
    Correction,
    correct,
    given_correction,
    given_group_correction,
)
from pytest_t2i.audits.peoples_labels import needs_more, shortage
from pytest_t2i.audits.samples import Sample, Samples
from pytest_t2i.audits.shared_blocks import widest_of
from pytest_t2i.data import Prompt
from pytest_t2i.generation.plan import DetectorRef


def sample_of(context: AuditContext, test: AskedTest) -> Sample:
    """Return the sample of a test's one prompt, linked to the other cases of its test function."""

    def measure(case: AskedTest) -> list[Sample]:
        return [one_sample(context, prompt, case) for prompt in case.selection.prompts]

    siblings = siblings_of(context, test, "prompts", measure, lambda sample: sample.prompt.id)
    return siblings.named(test.selection.prompts[0].id)  # type: ignore[no-any-return]


def samples_of(context: AuditContext, test: AskedTest, detector: str | None = None) -> Samples:
    """Return the samples of a test's prompts, corrected by people's labels where there are any."""
    settings = context.settings
    uncorrected = Samples(
        members=tuple(one_sample(context, p, test, detector) for p in test.selection.prompts),
        level=context.level(test),
        seed=settings.seed,
        words=settings.words,
        sequential=test.sequential,
        estimator=settings.estimator,
        alike=settings.undetected_alike,
        detectors=context.detectors,
    )
    return replace(
        uncorrected,
        corrected=given_correction(uncorrected, context.given_labels),
        corrected_groups=given_group_correction(uncorrected, context.given_labels),
        few_labels=shortage(uncorrected, context.given_labels),
    )


def one_sample(
    context: AuditContext, prompt: Prompt, test: AskedTest, detector: str | None = None
) -> Sample:
    """Return the detections of a prompt with the images that a test asks for.

    Where people labelled some of the run's images, their labels correct the counts of the prompt.
    """
    sample = _plain_sample(context, prompt, test, detector)
    if detector not in (None, context.detectors[0]):
        return sample
    correction = _prompts_correction(context)
    corrected = None if correction is None else correction.of_prompt(prompt)
    if correction is not None and sample.seeds == correction.seeds_of(prompt):
        return replace(sample, corrected=corrected)
    return replace(sample, few_labels=needs_more(sample, context.given_labels))


def _prompts_correction(context: AuditContext) -> Correction | None:
    """Return the correction by people's labels, from all prompts of the run; None without labels.

    A run that may stop early has none, because its prompts have different numbers of images.
    """
    labelled = context.given_labels
    if labelled is None or labelled.draw.probabilities or context.settings.sequential:
        return None
    if not labelled.vocabulary.is_gender:
        return None

    def corrected() -> Correction | None:
        pairs = widest_of((p, test) for test in context.tests for p in test.selection.prompts)
        members = tuple(_plain_sample(context, prompt, test) for prompt, test in pairs)
        settings = context.settings
        samples = Samples(members, settings.confidence, settings.seed, settings.words)
        return correct(samples, labelled)

    return context.once(("correction of prompts",), corrected)


def _plain_sample(
    context: AuditContext, prompt: Prompt, test: AskedTest, detector: str | None = None
) -> Sample:
    """Return the detections of a prompt without a correction by people's labels."""
    planned = context.seeds(prompt, test.images)
    return Sample(
        prompt=prompt,
        seeds=context.observations.distinct([prompt], planned),
        planned=planned,
        ref=DetectorRef(detector or context.detectors[0]),
        observations=context.observations,
        level=context.settings.confidence,
        stopping=test.stopping,
        instruments=context.instruments(test),
        alike=context.settings.undetected_alike,
        audits=context.audits,
    )
