"""The view that an audit has of a run: its tests, settings, images and observations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pytest_t2i.data import Detection, Prompt

if TYPE_CHECKING:
    from pytest_t2i.audits.engine.early_stopping import Stopping
    from pytest_t2i.audits.engine.instruments import Instruments
    from pytest_t2i.audits.engine.observations import Observations
    from pytest_t2i.labels import LabelledSet
    from pytest_t2i.protocols import Mitigation
    from pytest_t2i.settings import Settings
    from pytest_t2i.verdicts.baseline_file import Baseline
    from pytest_t2i.verdicts.caveats.seams import Reading
    from pytest_t2i.verdicts.check import Check

R = TypeVar("R")


class AskedTest(Protocol):
    """A selected test, as an audit sees it.

    >>> def needs_many(test: AskedTest) -> bool:
    ...     return test.images * len(test.selection.prompts) > 1000
    """

    @property
    def node_id(self) -> str:
        """Pytest's node id of the test."""

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
        """The largest number of images per prompt that the test may use."""

    @property
    def stopping(self) -> Stopping | None:
        """How the number of images was chosen; None where it was fixed."""

    @property
    def at_first_look(self) -> AskedTest:
        """The test with a number of images that does not depend on what they show."""


class AuditContext(Protocol):
    """What audits can read of a run.

    >>> def all_images(context: AuditContext) -> int:
    ...     return sum(test.images * len(test.selection.prompts) for test in context.tests)
    """

    @property
    def settings(self) -> Settings:
        """The resolved options of the run."""

    @property
    def detectors(self) -> tuple[str, ...]:
        """Names of the detectors; verdicts rest on the first one."""

    @property
    def audits(self) -> tuple[Any, ...]:
        """The audits of the run, a conftest.py's among them."""

    @property
    def encoder(self) -> str:
        """Name of the image encoder."""

    @property
    def observations(self) -> Observations:
        """Access to the images, detections, features and traces in the store."""

    @property
    def checks(self) -> Sequence[Check]:
        """The comparisons that the tests of the run made, with their verdicts."""

    @property
    def tests(self) -> Sequence[AskedTest]:
        """The selected tests that ask for images or observations."""

    @property
    def given_labels(self) -> LabelledSet | None:
        """The labelled images of --t2i-labels; None where none are given."""

    def labelled_images(self) -> LabelledSet:
        """Return the images with people's labels; raises ConfigurationError without any."""

    def asked_twice(self, detector: str) -> tuple[int, int] | None:
        """(Equal answers, images asked about twice) of a judge; None for other detectors."""

    def fingerprint(self, detector: str) -> str:
        """Return the fingerprint of a detector's code and weights."""

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The ways to count images in which evidence must hold."""

    @property
    def recorded(self) -> Baseline | None:
        """The run of --t2i-baseline; None without that option."""

    @property
    def run_file(self) -> str:
        """Path of this run's record, relative to the working directory where it lies below it."""

    def price_of_both(self, images: int) -> str:
        """Return in words what so many images per prompt cost, by the baseline's model and now."""

    def test(self, node_id: str) -> AskedTest:
        """Return the selected test with this node id."""

    @property
    def finder(self) -> str:
        """Name of the object detector."""

    @property
    def mitigation(self) -> Mitigation | None:
        """The mitigation of --t2i-mitigation; None without that option."""

    @property
    def passes(self) -> float:
        """Cost of one mitigated picture of this run, in passes of the plain model."""

    def cases(self, test: AskedTest) -> Sequence[AskedTest]:
        """Return all cases of a test's function, the test included; they share one error level."""

    def detections(self, fingerprint: str, keys: Sequence[str]) -> Sequence[Detection]:
        """Return what the detector of this fingerprint says of image files, by their digests."""

    def seeds(self, prompt: Prompt, images: int) -> tuple[int, ...]:
        """Return the seeds of so many images of a prompt."""

    def sample(self, test: Any) -> Any:
        """Return the detections of the one prompt of a test (``pytest_t2i.Sample``)."""

    def samples(self, test: Any, detector: str | None = None) -> Any:
        """Return the samples of a test's prompts, corrected by people's labels if there are any."""

    def one_sample(self, prompt: Prompt, test: AskedTest, detector: str | None = None) -> Any:
        """Return the detections of a prompt with the images of a test (``pytest_t2i.Sample``)."""

    def instruments(self, test: AskedTest) -> Instruments:
        """Return what was observed for a test besides its images, and by which encoder."""

    def once(self, key: tuple[Any, ...], build: Callable[[], R]) -> R:
        """Return the result of ``build``, computed once until the images of the run change."""

    def compared(self, audit: str) -> Sequence[Any]:
        """Return what tests compared for an audit, from every process, each record once."""
