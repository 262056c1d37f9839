"""What a run lends its audits: what was made and observed, read from the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from pytest_t2i.audits.build_samples import one_sample, sample_of, samples_of
from pytest_t2i.audits.context import AskedTest
from pytest_t2i.audits.instruments import Instruments
from pytest_t2i.audits.observations import Observations
from pytest_t2i.audits.samples import Sample, Samples
from pytest_t2i.data import Detection, Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import from_here
from pytest_t2i.generation.detect_labelled import detections_of
from pytest_t2i.generation.plan import DetectorRef, Plan
from pytest_t2i.labels import LabelledSet
from pytest_t2i.protocols import Mitigation
from pytest_t2i.runs.price import price_of_both
from pytest_t2i.runs.selection import SelectedTest
from pytest_t2i.runs.session import NO_LABELS, Session, distinct
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.check import Check

R = TypeVar("R")


@dataclass
class Results:
    """What was measured; reads the store, makes nothing.

    Over 20 methods: tests, audits and reports read a run's store through this class alone.
    """

    session: Session
    recorded: Baseline | None = None
    """The run of --t2i-baseline."""
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

    @property
    def run_file(self) -> str:
        """The record of this run, as one types it here."""
        return str(from_here(self.settings.report / "run.json"))

    def price_of_both(self, images: int) -> str:
        """What so many images per prompt take, of the baseline's model and now."""
        return price_of_both(self.session, images)

    def test(self, node_id: str) -> SelectedTest:
        """A selected test by pytest's name of it."""
        return self.session.tests[node_id]

    @property
    def finder(self) -> str:
        """The object detector."""
        return self.session.finder

    @property
    def mitigation(self) -> Mitigation | None:
        """What --t2i-mitigation names."""
        mitigating = self.session.components.mitigating()
        return None if mitigating is None else mitigating.named.mitigation

    @property
    def passes(self) -> float:
        """What a mitigated picture of this run costs, in passes of the plain model."""
        mitigating = self.session.components.mitigating()
        return 1.0 if mitigating is None else mitigating.named.passes

    def cases(self, test: AskedTest) -> Sequence[AskedTest]:
        """The test cases of its test function, itself among them."""
        return self._cases[test.function]

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

    def make_plan(self, tests: Sequence[SelectedTest] | None = None) -> Plan:
        """Everything that tests ask for; None: all that are selected."""
        return self.session.make_plan(self, tests)

    def fixture(self, name: str, test: SelectedTest) -> Any:
        """The value of an audit's fixture for a test."""
        return self.session.fixtures[name].make(self, test)

    def sample(self, test: AskedTest) -> Sample:
        """The detections of the one prompt of a test."""
        return sample_of(self, test)

    def samples(self, test: AskedTest, detector: str | None = None) -> Samples:
        """The samples of the prompts of a test, corrected by labels where there are any."""
        return samples_of(self, test, detector)

    def one_sample(self, prompt: Prompt, test: AskedTest, detector: str | None = None) -> Sample:
        """The detections of a prompt with the images that a test asks for."""
        return one_sample(self, prompt, test, detector)

    def level(self, test: AskedTest) -> float:
        """Level of model-level intervals; a test that was stopped early has spent a part of it."""
        confidence = self.session.settings.confidence
        if test.stopping is None:
            return confidence
        # As statistics.look_level, for looks of any test.
        before, here = (0, *test.stopping.looks)[-2:]
        return 1.0 - (1.0 - confidence) * (here - before) / test.stopping.most
