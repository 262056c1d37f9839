"""The results of a run, as tests and reports read them: samples, associations, triplets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from pytest_t2i.audits.audit import AskedTest
from pytest_t2i.audits.dependencies import Dependencies
from pytest_t2i.audits.detected import Siblings
from pytest_t2i.audits.instruments import Instruments
from pytest_t2i.audits.neutrality import TripletSample, TripletSamples
from pytest_t2i.audits.object_counts import Counted, Member
from pytest_t2i.audits.objects import Objects
from pytest_t2i.audits.observations import Observations
from pytest_t2i.audits.parity.correction import given_correction
from pytest_t2i.audits.samples import Sample, Samples
from pytest_t2i.audits.stereotypes import Association
from pytest_t2i.data import Detection, Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.labelled import detections_of
from pytest_t2i.generation.plan import DetectorRef, Plan
from pytest_t2i.labels import LabelledSet
from pytest_t2i.prompts import Stereotype
from pytest_t2i.runs.selection import SelectedTest
from pytest_t2i.runs.session import NO_LABELS, Session, distinct
from pytest_t2i.settings import Settings
from pytest_t2i.statistics import look_level
from pytest_t2i.verdicts.check import Check

C = TypeVar("C", bound=Counted)
R = TypeVar("R")


@dataclass
class Results:
    """What was measured; reads the store, makes nothing.

    The cases of one test function are measured together, once: they share one error level.
    """

    session: Session
    _siblings: dict[str, Siblings[Any]] = field(default_factory=dict)
    _once: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    @cached_property
    def observations(self) -> Observations:
        """Reads the store."""
        return Observations(self.session.components, self.session.store, self.session.generation)

    @cached_property
    def _cases(self) -> dict[str, list[SelectedTest]]:
        """Test function -> its cases."""
        cases: dict[str, list[SelectedTest]] = {}
        for test in self.session.tests.values():
            cases.setdefault(test.function, []).append(test)
        return cases

    def forget(self) -> None:
        """After another round of images: what was measured holds no longer."""
        self._siblings.clear()
        self._once.clear()
        self.session.compared.clear()
        self.__dict__.pop("_cases", None)

    # what audits work with (audits.audit.AuditContext)

    @property
    def settings(self) -> Settings:
        """The options."""
        return self.session.settings

    @property
    def detectors(self) -> tuple[str, ...]:
        """Detectors by name; the first one's word decides."""
        return self.session.detectors

    @property
    def encoder(self) -> str:
        """The encoder of images."""
        return self.session.encoder

    @property
    def checks(self) -> list[Check]:
        """What the tests of the run compared, with the verdicts."""
        return self.session.checks

    @property
    def tests(self) -> list[SelectedTest]:
        """The selected tests that ask for something of their own."""
        return distinct(self.session.tests.values())

    @property
    def given_labels(self) -> LabelledSet | None:
        """The labelled images of --t2i-labels; None where none are given."""
        return self.session.labelled if self.settings.labels is not None else None

    def labelled_images(self) -> LabelledSet:
        """Images with people's labels; ConfigurationError where none are given."""
        if self.session.labelled is None:
            raise ConfigurationError(NO_LABELS)
        return self.session.labelled

    def fingerprint(self, detector: str) -> str:
        """Which version of a detector's code and weights looks."""
        return self.session.components.detector(DetectorRef(detector)).fingerprint

    def detections(self, fingerprint: str, keys: Sequence[str]) -> list[Detection]:
        """What the detector with this fingerprint said of images, by the digests of their files."""
        return detections_of(self.session.store, fingerprint, keys)

    def seeds(self, prompt: Prompt, images: int) -> tuple[int, ...]:
        """The seeds of so many images of a prompt."""
        return self.session.seeds(prompt, images)

    def instruments(self, test: AskedTest) -> Instruments:
        """What was observed for a test besides its images, and by which encoder."""
        return self.session.instruments(test.selection)

    def once(self, key: tuple[Any, ...], build: Callable[[], R]) -> R:
        """What ``build`` gives, computed once for the images that there are."""
        if key not in self._once:
            self._once[key] = build()
        return self._once[key]  # type: ignore[no-any-return]

    def compared(self, audit: str) -> list[Any]:
        """Records of what the tests of the run compared, each once, in order of the tests."""
        # Reports of workers come in any order.
        order = [*self.session.tests, *sorted(self.session.compared)]
        found = (
            one.record
            for node in dict.fromkeys(order)
            for one in self.session.compared.get(node, ())
            if one.audit == audit
        )
        return list(dict.fromkeys(found))

    def make_plan(self) -> Plan:
        """Everything the selected tests ask for."""
        return self.session.make_plan(self)

    def fixture(self, name: str, test: SelectedTest) -> Any:
        """The value of an audit's fixture for a test."""
        return next(a.fixtures[name] for a in self.session.audits if name in a.fixtures).make(
            self, test
        )

    # prompts

    def sample(self, test: SelectedTest) -> Sample:
        """The detections of the one prompt of a test."""
        siblings = self._of_function(test, "prompts", self._samples_of)
        return siblings.members[siblings.places[test.selection.prompts[0].id]]  # type: ignore[no-any-return]

    def samples(self, test: SelectedTest, detector: str | None = None) -> Samples:
        """The samples of the prompts of a test, corrected by labels where there are any."""
        settings = self.session.settings
        uncorrected = Samples(
            members=tuple(self.one_sample(p, test, detector) for p in test.selection.prompts),
            level=self.level(test),
            seed=settings.seed,
            words=settings.words,
            sequential=test.sequential,
            estimator=settings.estimator,
            alike=settings.undetected_alike,
        )
        return replace(uncorrected, corrected=given_correction(uncorrected, self.given_labels))

    def one_sample(self, prompt: Prompt, test: AskedTest, detector: str | None = None) -> Sample:
        """The detections of a prompt with the images that a test asks for."""
        return Sample(
            prompt=prompt,
            seeds=self.session.seeds(prompt, test.images),
            ref=DetectorRef(detector or self.session.detectors[0]),
            observations=self.observations,
            level=self.session.settings.confidence,
            sequential=test.sequential,
            instruments=self.session.instruments(test.selection),
            alike=self.session.settings.undetected_alike,
        )

    def level(self, test: AskedTest) -> float:
        """Level of model-level intervals; a test that was stopped early has spent a part of it."""
        confidence = self.session.settings.confidence
        if not test.sequential:
            return confidence
        return look_level(test.images, test.planned, confidence)

    # stereotypes

    def association(self, test: SelectedTest) -> Association:
        """The one stereotype of a test as measured."""
        siblings = self._of_function(test, "stereotypes", self._associations_of)
        return siblings.members[siblings.places[test.selection.stereotypes[0].id]]  # type: ignore[no-any-return]

    def associations(self, test: SelectedTest) -> tuple[Association, ...]:
        """Every stereotype of a test as measured."""
        return tuple(self.one_association(s, test) for s in test.selection.stereotypes)

    def one_association(self, stereotype: Stereotype, test: SelectedTest) -> Association:
        """A stereotype with the images that a test asks for."""
        return Association(
            stereotype,
            self.session.seeds(stereotype.prompt, test.images),
            self.session.detectors[0],
            self.observations,
            self.session.settings.confidence,
            sequential=test.sequential,
            instruments=self.session.instruments(test.selection),
        )

    # triplets

    def triplets(self, test: SelectedTest) -> TripletSamples:
        """The triplets of a test."""
        settings = self.session.settings
        members = tuple(
            TripletSample(
                three,
                self.session.seeds(three.neutral, test.images),
                self.session.encoder,
                self.observations,
                settings.confidence,
                settings.seed,
            )
            for three in test.selection.triplets
        )
        return TripletSamples(members, settings.confidence, settings.seed, settings.words)

    def objects(self, test: SelectedTest) -> Objects:
        """The objects in the images of the triplets of a test."""
        return self._counted(Objects, test)

    def dependencies(self, test: SelectedTest) -> Dependencies:
        """The same objects by dependency group."""
        return self._counted(Dependencies, test)

    def _counted(self, kind: type[C], test: SelectedTest) -> C:
        settings = self.session.settings
        return kind(
            tuple(
                Member(three, self.session.seeds(three.neutral, test.images))
                for three in test.selection.triplets
            ),
            self.session.finder,
            self.observations,
            settings.confidence,
            settings.seed,
            settings.least_objects,
            dict(test.selection.expected),
            settings.words,
        )

    # the cases of one test function

    def _of_function(
        self,
        test: SelectedTest,
        kind: str,
        measure: Callable[[Iterable[SelectedTest]], list[Any]],
    ) -> Siblings[Any]:
        key = f"{test.function} {kind}"
        if key not in self._siblings:
            members = measure(self._cases[test.function])
            ids = [
                member.prompt.id if kind == "prompts" else member.stereotype.id
                for member in members
            ]
            siblings: Siblings[Any] = Siblings([], ids)
            siblings.members = [replace(member, siblings=siblings) for member in members]
            self._siblings[key] = siblings
        return self._siblings[key]

    def _samples_of(self, cases: Iterable[SelectedTest]) -> list[Sample]:
        return [self.one_sample(p, test) for test in cases for p in test.selection.prompts]

    def _associations_of(self, cases: Iterable[SelectedTest]) -> list[Association]:
        return [self.one_association(s, test) for test in cases for s in test.selection.stereotypes]
