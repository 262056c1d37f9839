"""The prompts of a run for its record: images, and the detections of each detector."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pytest_t2i.audits.label_counts import counts_of
from pytest_t2i.audits.largest_samples import widest_of
from pytest_t2i.audits.samples import Sample
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.metrics import prompt_bias_score
from pytest_t2i.runs.record import ImageRecord, PromptRecord
from pytest_t2i.runs.results import Results


def prompt_records(results: Results) -> Iterator[PromptRecord]:
    """Yield every prompt once, in order of appearance, with the most images that a test needs."""
    pairs = (
        (prompt, test)
        for test in results.tests
        for prompt in (
            *test.selection.prompts,
            *(stereotype.prompt for stereotype in test.selection.stereotypes),
        )
    )
    for prompt, test in widest_of(pairs):
        yield _record(results, results.one_sample(prompt, test))


def _record(results: Results, sample: Sample) -> PromptRecord:
    names = results.detectors
    by_detector = {
        name: results.observations.detections(sample.prompt, sample.seeds, DetectorRef(name))
        for name in names
    }
    revised = results.observations.revised_prompts(sample.prompt, sample.seeds)
    images = tuple(
        ImageRecord(
            seed,
            str(file) if file else None,
            {
                name: replace(said[k], scores=said[k].scores if name == names[0] else {})
                for name, said in by_detector.items()
            },
            revised[k],
        )
        for k, (seed, file) in enumerate(zip(sample.seeds, sample.files, strict=True))
    )
    return PromptRecord(
        sample.prompt.id,
        sample.prompt.text,
        sample.prompt.axis,
        sample.prompt.concept,
        sample.prompt.variant.value,
        {name: counts_of(said) for name, said in by_detector.items()},
        sample.bias_interval,
        images,
        sample.worst_case if sample.corrected is None else None,
        None if sample.corrected is None else prompt_bias_score(sample.male, sample.female),
        {} if sample.corrected is None else dict(sample.corrected.labels),
    )
