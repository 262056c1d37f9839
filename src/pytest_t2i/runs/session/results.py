"""The results of a run, which audits and reports read from the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from pytest_t2i.audits.engine.build_samples import one_sample, sample_of, samples_of
from pytest_t2i.audits.engine.context import AskedTest
from pytest_t2i.audits.engine.instruments import Instruments
from pytest_t2i.audits.engine.observations import Observations
from pytest_t2i.audits.engine.samples import Sample, Samples
from pytest_t2i.data import Detection, Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import from_here
from pytest_t2i.generation.detect import stored_detections
from pytest_t2i.generation.heartbeat import clock_time
from pytest_t2i.generation.plan import DetectorRef, Plan
from pytest_t2i.labels import LabelledSet
from pytest_t2i.protocols import Mitigation
from pytest_t2i.runs.session.selection import SelectedTest
from pytest_t2i.runs.session.session import NO_LABELS, Session, distinct
from pytest_t2i.runs.session.vlm_judges import judges_of
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.caveats.seams import Reading
from pytest_t2i.verdicts.check import Check

R = TypeVar("R")


@dataclass
class Results:
    """The results of a run, read from the store; this class makes no images."""

    session: Session
    recorded: Baseline | None = None
    """The baseline of --t2i-baseline; None without."""
    _once: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    @cached_property
    def observations(self) -> Observations:
        return Observations(self.session.components, self.session.request_settings)

    @cached_property
    def _cases(self) -> dict[str, list[SelectedTest]]:
        cases: dict[str, list[SelectedTest]] = {}
        for test in self.session.tests.values():
            cases.setdefault(test.function, []).append(test)
        return cases

    def forget(self) -> None:
        """Discard all computed results, after another round of images."""
        self._once.clear()
        self.session.compared.clear()
        self.__dict__.pop("_cases", None)

    # the interface for audits (audits.context.AuditContext)

    @property
    def audits(self) -> tuple[Any, ...]:
        """The audits of the run, a conftest.py's among them."""
        return self.session.audits

    @property
    def settings(self) -> Settings:
        return self.session.settings

    @property
    def detectors(self) -> tuple[str, ...]:
        """The names of the detectors; the detections of the first are judged."""
        return self.session.detectors

    @property
    def encoder(self) -> str:
        return self.session.encoder

    @property
    def checks(self) -> list[Check]:
        """The checks of the run's tests, with their verdicts."""
        return self.session.checks

    @property
    def tests(self) -> list[SelectedTest]:
        """The selected tests, without those that need the same as an earlier one."""
        return distinct(self.session.tests.values())

    @property
    def given_labels(self) -> LabelledSet | None:
        """The labelled images of --t2i-labels; None without."""
        return self.session.labelled if self.settings.labels is not None else None

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The ways to count images in which evidence must hold."""
        return tuple(caveat for caveat in self.session.caveats if isinstance(caveat, Reading))

    def asked_twice(self, detector: str) -> tuple[int, int] | None:
        """(Equal answers, images asked about twice) of a judge; None for other detectors."""
        judge = judges_of(self.session).get(detector)
        return None if judge is None else judge.agreement

    def labelled_images(self) -> LabelledSet:
        """Return the images with people's labels; raise ConfigurationError without any."""
        if self.session.labelled is None:
            raise ConfigurationError(NO_LABELS)
        return self.session.labelled

    def fingerprint(self, detector: str) -> str:
        """Return a detector's fingerprint, which names the version of its code and weights."""
        return self.session.components.detector(DetectorRef(detector)).fingerprint

    def detections(self, fingerprint: str, keys: Sequence[str]) -> list[Detection]:
        """Return the detections of labelled images, by fingerprint and by digests of the files."""
        return stored_detections(self.session.store, fingerprint, keys)

    def seeds(self, prompt: Prompt, images: int) -> tuple[int, ...]:
        return self.session.seeds(prompt, images)

    @property
    def run_file(self) -> str:
        """The path of this run's run.json, relative to the working directory."""
        return str(from_here(self.settings.report / "run.json"))

    def price_of_both(self, images: int) -> str:
        """Return the price of this many images per prompt, for the baseline's model and now."""
        if self.session.has_ready_pictures:
            return "in the folder of the baseline and in this one"
        return f"then and now ({self.price(images)}, and as many of the baseline's model)"

    def price(self, images: int) -> str:
        """Return this many images per prompt beyond the run's, and their time at its rate."""
        counts = self.session.images_wanted().values()
        more = sum(max(0, images - count) for count in counts)
        return f"{more} more images{self._time(more)}"

    def price_of_fresh(self, images: int) -> str:
        """Return this many new images per prompt, and their time at the run's rate."""
        total = images * len(self.session.images_wanted())
        return f"{total} images{self._time(total)}"

    def _time(self, images: int) -> str:
        work = self.session.work
        if not work.made or not work.seconds:
            return ""
        seconds = work.seconds_per_image or work.seconds / work.made
        return f", {clock_time(images * seconds)} here"

    def test(self, node_id: str) -> SelectedTest:
        return self.session.tests[node_id]

    @property
    def finder(self) -> str:
        return self.session.finder

    @property
    def mitigation(self) -> Mitigation | None:
        """The mitigation of --t2i-mitigation; None without."""
        mitigating = self.session.components.mitigating()
        return None if mitigating is None else mitigating.named.mitigation

    @property
    def passes(self) -> float:
        """The cost of a mitigated picture relative to the plain model."""
        mitigating = self.session.components.mitigating()
        return 1.0 if mitigating is None else mitigating.named.passes

    def cases(self, test: AskedTest) -> Sequence[AskedTest]:
        """Return all test cases of this test's function, this one included."""
        return self._cases[test.function]

    def instruments(self, test: AskedTest) -> Instruments:
        """Return the traces, attributes and encoder that a test needs besides its images."""
        return self.session.instruments(test.selection)

    def once(self, key: tuple[Any, ...], build: Callable[[], R]) -> R:
        """Return the result of ``build``, computed once per key until ``forget``."""
        if key not in self._once:
            self._once[key] = build()
        return self._once[key]  # type: ignore[no-any-return]

    def compared(self, audit: str) -> list[Any]:
        """Return an audit's records of what tests compared, each once, in order of the tests."""
        # Workers report in any order.
        order = [*self.session.tests, *sorted(self.session.compared)]
        records = (
            entry.record
            for node in dict.fromkeys(order)
            for entry in self.session.compared.get(node, ())
            if entry.audit == audit
        )
        return list(dict.fromkeys(records))

    def make_plan(self, tests: Sequence[SelectedTest] | None = None) -> Plan:
        """Return the plan of everything that tests need; None takes all selected tests."""
        return self.session.make_plan(self, tests)

    def fixture(self, name: str, test: SelectedTest) -> Any:
        return self.session.fixtures[name].value(self, test)

    def sample(self, test: AskedTest) -> Sample:
        return sample_of(self, test)

    def samples(self, test: AskedTest, detector: str | None = None) -> Samples:
        """Return the samples of a test's prompts, corrected by people's labels if there are any."""
        return samples_of(self, test, detector)

    def one_sample(self, prompt: Prompt, test: AskedTest, detector: str | None = None) -> Sample:
        return one_sample(self, prompt, test, detector)
