"""The scores of a run as its record keeps them: prompts, model, stereotypes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from pytest_t2i.audits.samples import Sample, Samples
from pytest_t2i.audits.sensitivity import sensitivity
from pytest_t2i.data import Detection, Prompt
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.labels import CLEAR
from pytest_t2i.metrics import group_entropy, group_gap
from pytest_t2i.runs.record import (
    CellRecord,
    CellsRecord,
    CorrectedPrompt,
    CorrectionRecord,
    Counts,
    GroupCorrectionRecord,
    GroupsRecord,
    ImageRecord,
    ModelScore,
    PromptRecord,
    SensitivityRecord,
    StereotypeRecord,
    VariationRecord,
)
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

    @cached_property
    def widest(self) -> list[tuple[Prompt, SelectedTest]]:
        """Every prompt of samples once, with the test that asks for most images of it."""
        return widest_of((p, test) for test in self.tests for p in test.selection.prompts)

    # prompts

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

    # the model

    def model_scores(self) -> Iterator[ModelScore]:
        """Over all prompts and axis by axis, by each detector."""
        for detector in self.results.session.detectors:
            samples = self._all_samples(detector)
            if not samples.members:
                return
            yield _score("model", detector, samples)
            if len(axes := samples.by_axis()) > 1:
                yield from (_score(name, detector, part) for name, part in axes.items())

    def _all_samples(self, detector: str) -> Samples:
        """The samples of every prompt of the run, each once.

        After early stopping prompts differ in their number of images, which depends on what they
        show: the number that all have is taken, at the level that this look has.
        """
        settings, pairs = self.results.session.settings, self.widest
        level, sequential = settings.confidence, False
        if settings.sequential and pairs:
            fewest = min((test for _, test in pairs), key=lambda test: test.images)
            pairs = [(prompt, fewest) for prompt, _ in pairs]
            level, sequential = self.results.level(fewest), fewest.sequential
        return Samples(
            members=tuple(self.results.one_sample(p, test, detector) for p, test in pairs),
            level=level,
            seed=settings.seed,
            words=settings.words,
            sequential=sequential,
            estimator=settings.estimator,
        )

    def sensitivity(self) -> Iterator[SensitivityRecord]:
        """One for each limit on the model bias score of the run's prompts."""
        session = self.results.session
        bounds = {
            check.bound
            for check in session.checks
            if (check.metric, check.subject, check.against)
            == ("model_bias_score", "model", "limit")
        }
        if not bounds:
            return
        scored = [(name, self._all_samples(name)) for name in session.detectors]
        for bound in sorted(bounds):
            result = sensitivity(scored, bound)
            variations = (
                VariationRecord(v.detector, v.choice, v.interval, v.outcome)
                for v in result.variations
            )
            yield SensitivityRecord(bound, result.fragile, tuple(variations))

    def groups(self) -> Iterator[GroupsRecord]:
        """Of each detector whose labels are not male and female."""
        components = self.results.session.components
        for detector in self.results.session.detectors:
            if set(components.detector(DetectorRef(detector)).labels) == set(CLEAR):
                continue
            shares = self._all_samples(detector).shares
            if len(shares) > 1:
                counts = {name: share.estimate for name, share in shares.items()}
                yield GroupsRecord(detector, shares, group_gap(counts), group_entropy(counts))

    def cells(self) -> Iterator[CellsRecord]:
        """One table for each two axes that were crossed."""
        tables: dict[tuple[str, str], list[CellRecord]] = {}
        for prompt, test in self.widest:
            if len(prompt.parts) == 2:  # noqa: PLR2004 - a table has rows and columns
                (rows, row), (columns, column) = prompt.parts
                share = self.results.one_sample(prompt, test).share_of_men
                cell = CellRecord(prompt.id, row, column, share)
                tables.setdefault((rows, columns), []).append(cell)
        for (rows, columns), cells in tables.items():
            yield CellsRecord(rows, columns, tuple(cells))

    def group_correction(self) -> GroupCorrectionRecord | None:
        """What people's labels make of a detector's groups; None without any of the run."""
        session = self.results.session
        detector = session.detectors[0]
        corrected = self.results.group_correction(self._all_samples(detector))
        if corrected is None or session.labelled is None:
            return None
        plain = (None if math.isnan(share) else share for share in corrected.shares.detector)
        return GroupCorrectionRecord(
            labelled=str(session.labelled.folder),
            detector=detector,
            labels=corrected.shares.labels,
            prompts=corrected.prompts,
            left_out=corrected.left_out,
            by_detector=dict(zip(corrected.groups, plain, strict=True)),
            corrected=dict(zip(corrected.groups, corrected.shares.shares, strict=True)),
        )

    def correction(self) -> CorrectionRecord | None:
        """What people's labels make of the model bias score; None without any of the run."""
        session = self.results.session
        corrected = self.results.correction(self._all_samples(session.detectors[0]))
        if corrected is None or session.labelled is None:
            return None
        scores = corrected.scores
        prompts = tuple(
            CorrectedPrompt(
                sample.prompt.id,
                interval.n,
                sample.bias_interval.estimate if sample.bias_interval else None,
                interval,
            )
            for sample, interval in zip(corrected.samples, scores.prompts, strict=True)
        )
        return CorrectionRecord(
            labelled=str(session.labelled.folder),
            detector=session.detectors[0],
            labels=scores.labels,
            left_out=corrected.left_out,
            by_detector=scores.detector,
            corrected=scores.model,
            adjusted=corrected.adjusted,
            labels_to_halve=scores.labels_to_halve,
            prompts=prompts,
        )

    # stereotypes

    def stereotypes(self) -> Iterator[StereotypeRecord]:
        """Every stereotype, with the most images that a test asks for."""
        pairs = ((s, test) for test in self.tests for s in test.selection.stereotypes)
        for stereotype, test in widest_of(pairs):
            measured = self.results.one_association(stereotype, test)
            yield StereotypeRecord(
                stereotype.id,
                stereotype.prompt.concept,
                stereotype.attribute.name,
                measured.detector,
                stereotype.expected,
                measured.share,
                measured.score_interval,
                stereotype.source,
                stereotype.margin,
                stereotype.direction,
            )


def widest_of(pairs: Iterable[tuple]) -> list[tuple]:  # type: ignore[type-arg]
    """Every member once, in order of appearance, with the test that asks for most images."""
    widest: dict[str, tuple] = {}  # type: ignore[type-arg]
    for member, test in pairs:
        name = getattr(member, "text", member.id)
        known = widest.get(name)
        if known is None or known[1].images < test.images:
            widest[name] = (member, test)
    return list(widest.values())


def counts_of(detections: Iterable[Detection]) -> Counts:
    """How many images got each label, and why others got none."""
    detections = list(detections)
    return Counts(
        dict(Counter(d.label for d in detections if d.label is not None)),
        dict(Counter(d.undetected for d in detections if d.undetected is not None)),
    )


def _score(name: str, detector: str, samples: Samples) -> ModelScore:
    return ModelScore(
        name,
        detector,
        samples.interval("corrected"),
        samples.interval("paper"),
        samples.floor,
        len(samples),
        samples.clear_images,
        samples.worst_case,
    )
