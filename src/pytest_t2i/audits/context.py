"""What an audit sees of a run: its tests, and what the run lends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pytest_t2i.data import Detection, Prompt

if TYPE_CHECKING:
    from pytest_t2i.audits.early_stopping import Stopping
    from pytest_t2i.audits.instruments import Instruments
    from pytest_t2i.audits.observations import Observations
    from pytest_t2i.labels import LabelledSet
    from pytest_t2i.protocols import Mitigation
    from pytest_t2i.settings import Settings
    from pytest_t2i.verdicts.baseline_file import Baseline
    from pytest_t2i.verdicts.check import Check

R = TypeVar("R")


class AskedTest(Protocol):
    """A selected test, as an audit sees it.

    >>> def needs_many(test: AskedTest) -> bool:
    ...     return test.images * len(test.selection.prompts) > 1000
    """

    @property
    def node_id(self) -> str:
        """Pytest's name of it."""

    @property
    def function(self) -> str:
        """The test function, whose cases share one error level."""

    @property
    def selection(self) -> Any:
        """What the test's marker selects: ``prompts``, ``triplets``, ``stereotypes``, ..."""

    @property
    def images(self) -> int:
        """Images per prompt."""

    @property
    def planned(self) -> int:
        """Images per prompt that it may have at most."""

    @property
    def sequential(self) -> bool:
        """Whether the number of images was chosen while looking at them."""

    @property
    def stopping(self) -> Stopping | None:
        """How it was chosen; None where it was fixed."""


class AuditContext(Protocol):
    """What a run lends its audits.

    Over 20 methods: an audit reaches the run through this class alone, and no method has more than
    one job.

    >>> def all_images(context: AuditContext) -> int:
    ...     return sum(test.images * len(test.selection.prompts) for test in context.tests)
    """

    @property
    def settings(self) -> Settings:
        """The options."""

    @property
    def detectors(self) -> tuple[str, ...]:
        """Detectors by name; the first one's word decides."""

    @property
    def encoder(self) -> str:
        """The encoder of images."""

    @property
    def observations(self) -> Observations:
        """Reads images, detections, features and traces from the store."""

    @property
    def checks(self) -> Sequence[Check]:
        """What the tests of the run compared, with the verdicts."""

    @property
    def tests(self) -> Sequence[AskedTest]:
        """The selected tests that ask for something of their own."""

    @property
    def given_labels(self) -> LabelledSet | None:
        """The labelled images of --t2i-labels; None where none are given."""

    def labelled_images(self) -> LabelledSet:
        """Images with people's labels; ConfigurationError where none are given."""

    def fingerprint(self, detector: str) -> str:
        """Which version of a detector's code and weights looks."""

    @property
    def recorded(self) -> Baseline | None:
        """The run of --t2i-baseline; None without."""

    @property
    def run_file(self) -> str:
        """The record of this run, as one types it here."""

    def price_of_both(self, images: int) -> str:
        """What so many images per prompt take, of the baseline's model and now, in words."""

    def test(self, node_id: str) -> AskedTest:
        """A selected test by pytest's name of it."""

    @property
    def finder(self) -> str:
        """The object detector."""

    @property
    def mitigation(self) -> Mitigation | None:
        """What --t2i-mitigation names; None without."""

    @property
    def passes(self) -> float:
        """What a mitigated picture of this run costs, in passes of the plain model."""

    def cases(self, test: AskedTest) -> Sequence[AskedTest]:
        """The test cases of its test function, itself among them: they share one error level."""

    def detections(self, fingerprint: str, keys: Sequence[str]) -> Sequence[Detection]:
        """What the detector with this fingerprint said of images, by the digests of their files."""

    def seeds(self, prompt: Prompt, images: int) -> tuple[int, ...]:
        """The seeds of so many images of a prompt."""

    def level(self, test: AskedTest) -> float:
        """Confidence level of intervals over all prompts of a test."""

    def sample(self, test: Any) -> Any:
        """The detections of the one prompt of a test (``pytest_t2i.Sample``)."""

    def samples(self, test: Any, detector: str | None = None) -> Any:
        """Those of all its prompts, corrected by labels where there are any."""

    def one_sample(self, prompt: Prompt, test: AskedTest, detector: str | None = None) -> Any:
        """The detections of a prompt with the images of a test (``pytest_t2i.Sample``)."""

    def instruments(self, test: AskedTest) -> Instruments:
        """What was observed for a test besides its images, and by which encoder."""

    def once(self, key: tuple[Any, ...], build: Callable[[], R]) -> R:
        """What ``build`` gives, computed once for the images that there are."""

    def compared(self, audit: str) -> Sequence[Any]:
        """Records of what the tests of the run compared, from every process, each once."""
