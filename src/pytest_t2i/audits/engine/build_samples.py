"""Samples built from a run's images, as audits correct them by people's labels."""

from __future__ import annotations

from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.detected import siblings_of
from pytest_t2i.audits.engine.samples import Sample, Samples
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
    samples = Samples(
        members=tuple(one_sample(context, p, test, detector) for p in test.selection.prompts),
        level=settings.interval_level,
        seed=settings.seed,
        alike=settings.undetected_alike,
        audits=context.audits,
    )
    if context.given_labels is not None:
        for audit in context.audits:
            samples = audit.corrected_samples(context, samples)
    return samples


def one_sample(
    context: AuditContext, prompt: Prompt, test: AskedTest, detector: str | None = None
) -> Sample:
    sample = plain_sample(context, prompt, test, detector)
    if context.given_labels is not None and detector in {None, context.detectors[0]}:
        for audit in context.audits:
            sample = audit.corrected_sample(context, sample)
    return sample


def plain_sample(
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
        level=context.settings.interval_level,
        stopping=test.stopping,
        instruments=context.instruments(test),
        alike=context.settings.undetected_alike,
        audits=context.audits,
        readings=context.readings,
    )
