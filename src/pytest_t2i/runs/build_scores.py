"""The scores of a run as its record keeps them: prompts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from pytest_t2i.audits.counts import counts_of
from pytest_t2i.audits.samples import Sample
from pytest_t2i.audits.widest import widest_of
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.runs.record import ImageRecord, PromptRecord
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.selection import SelectedTest
from pytest_t2i.runs.session import distinct


@dataclass
class Scores:
    """Reads the results of a run, part by part."""

    results: Results

    @cached_property
    def tests(self) -> list[SelectedTest]:
        """Tests that ask for something of their own."""
        return distinct(self.results.session.tests.values())

    def prompts(self) -> Iterator[PromptRecord]:
        """Every prompt once, in order of appearance."""
        pairs = (
            (prompt, test)
            for test in self.tests
            for prompt in (
                *test.selection.prompts,
                *(stereotype.prompt for stereotype in test.selection.stereotypes),
            )
        )
        for prompt, test in widest_of(pairs):
            yield self._prompt(self.results.one_sample(prompt, test))

    def _prompt(self, sample: Sample) -> PromptRecord:
        names = self.results.session.detectors
        by_detector = {
            name: self.results.observations.detections(
                sample.prompt, sample.seeds, DetectorRef(name)
            )
            for name in names
        }
        images = tuple(
            ImageRecord(
                seed,
                str(file) if file else None,
                {
                    name: replace(said[k], scores=said[k].scores if name == names[0] else {})
                    for name, said in by_detector.items()
                },
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
            sample.worst_case,
        )
