"""What an audit is: one question, from what it needs to what it shows.

An audit is registered by an entry point of the group ``pytest_t2i.audits`` or the hook
``pytest_t2i_audits``, the built-in ones as those of others. Its class is light: what is heavy is
imported by the methods that need it, as every start of pytest loads the class for its fixtures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from pytest_t2i.data import Detection, Interval, MetricInfo, Prompt

if TYPE_CHECKING:
    from pytest_t2i.audits.instruments import Instruments
    from pytest_t2i.audits.observations import Observations
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.labels import LabelledSet
    from pytest_t2i.sections import Cell, Section
    from pytest_t2i.settings import Settings
    from pytest_t2i.verdicts.baseline_file import Baseline
    from pytest_t2i.verdicts.check import Check

R = TypeVar("R")
About = Literal["prompts", "triplets", "stereotypes", "detectors"]


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
        """What its mark selects: ``prompts``, ``triplets``, ``stereotypes``, ``detectors``, ..."""

    @property
    def images(self) -> int:
        """Images per prompt."""

    @property
    def planned(self) -> int:
        """Images per prompt that it may have at most."""

    @property
    def sequential(self) -> bool:
        """Whether the number of images was chosen while looking at them."""


class AuditContext(Protocol):
    """What a run lends its audits.

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
        """The object finder."""

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


def _none_watched(settings: Settings) -> Collection[str]:  # noqa: ARG001 - as it is called
    return ()


def _nothing_unmet(settings: Settings) -> str:  # noqa: ARG001 - as it is called
    return ""


@dataclass(frozen=True, slots=True)
class Fixture:
    """What tests receive by one name.

    >>> Fixture(lambda context, test: test.images, about="prompts").one_by_one
    False
    """

    make: Callable[[AuditContext, Any], Any]
    """(context, test) -> its value."""
    about: About | None
    """What the mark must name for it; "detectors" need no mark's word, but labelled images; None
    for what is the same for all tests."""
    one_by_one: bool = False
    """Whether there is one test case for each of them; else one test has them all."""
    doc: str = ""
    """What ``pytest --fixtures`` says."""
    finds: bool = False
    """Whether it needs an object finder."""
    unmet: Callable[[Settings], str] = _nothing_unmet
    """Why a run cannot give it: the test is skipped; "" where it can."""
    watched: Callable[[Settings], Collection[str]] = _none_watched
    """Its metrics whose intervals allow for looking again and again, as early stopping does."""


class Keyword(NamedTuple):
    """A keyword of the mark that an audit understands.

    >>> Keyword(lambda value: tuple(value), default=()).read(["prompt", "image"])
    ('prompt', 'image')
    """

    read: Callable[[Any], Hashable]
    """What was given -> what the audit is told; ConfigurationError for what it does not take."""
    default: Hashable
    """What it is told where the mark does not say."""


class Frame(NamedTuple):
    """A table of numbers for pandas and CSV.

    >>> Frame(("prompt", "score"), [("nurse", 0.4)]).columns
    ('prompt', 'score')
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    intervals: tuple[str, ...] = ()
    """Columns of intervals, each of which becomes three: estimate, low, high."""


AFTER_FAILURE = 40
"""Priority of a step that explains a failure."""


class Step(NamedTuple):
    """Something to do next.

    >>> min(Step(20, "label images"), Step(5, "look at the nurse")).text
    'look at the nurse'
    """

    priority: int
    """The smallest comes first; the run's own steps have 10, 20, ..., 90."""
    text: str
    topic: str = ""
    """What it is about: steps of audits about a topic replace the run's own about it."""


class Figure(NamedTuple):
    """One number of the first screen.

    >>> Figure("Similarity gap", "+0.021", ("widest of 3 spaces",)).target
    ''
    """

    title: str
    value: str
    notes: tuple[str, ...]
    """Lines below it."""
    target: str = ""
    """Title of the section that explains it."""
    interval: Interval | None = None
    """Drawn below it, on a scale from 0 to 1; None for no drawing."""
    reference: float | None = None
    """A value to compare with, drawn beside the interval."""
    metric: str = ""
    """Checks of the model by this metric, where there are any, stand in its place."""


class Value(NamedTuple):
    """One measured value, for a card.

    >>> Value("model_bias_score", "profession", None, "clip").name
    'profession'
    """

    metric: str
    name: str
    """Of what it was measured: "model", an axis, a stereotype."""
    interval: Interval | None
    detector: str = ""
    """Whose word it rests on; "" where it rests on none."""


class NamedRecord(NamedTuple, Generic[R]):
    """What an audit keeps of one of several models."""

    model: str
    record: R
    run: Any
    """The whole RunRecord."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What other places show of an audit's record.

    >>> Summary("least even: nurse").series
    {}
    """

    headline: str = ""
    """One line for a Fairness Card or a model card."""
    series: Mapping[str, Interval] = field(default_factory=dict)
    """Name -> what is followed over versions."""
    frames: Mapping[str, Frame] = field(default_factory=dict)
    """Name of a table -> the table."""
    values: Sequence[Value] = ()
    """Every value, for cards; () takes those of ``series``."""
    figures: Sequence[Figure] = ()
    """Numbers for the first screen of the page."""
    scope: str = ""
    """A sentence that says what was measured, for a Fairness Card."""
    limitations: Sequence[str] = ()
    """Sentences that say what the numbers do not show."""
    subjects: Mapping[str, str] = field(default_factory=dict)
    """Subject of a check -> what was seen of it, in a few words."""

    @property
    def all_values(self) -> Sequence[Value]:
        """Every value, from the series where there are no others."""
        if self.values:
            return self.values
        parts = ((name.partition("/"), interval) for name, interval in self.series.items())
        return [Value(metric, name, interval) for (metric, _, name), interval in parts]


class Audit(Generic[R]):
    """One question to a model; override what it has. ``R`` is its part of run.json.

    >>> class Nothing(Audit[dict[str, int]]):
    ...     name = "nothing"
    >>> Nothing().needs(None, None), Nothing().sections({}, None)
    ((), ())
    """

    name: str
    """Key of its record; a word of letters and underscores."""
    version: int = 1
    """Of its record: raise it when ``upgraded`` has to know older ones."""
    after: tuple[str, ...] = ()
    """Audits whose records it reads."""
    metrics: Sequence[MetricInfo] = ()
    """What it measures; ``limit("name")`` knows them."""
    fixtures: Mapping[str, Fixture] = {}
    """What tests receive."""
    keywords: Mapping[str, Keyword] = {}
    """Keywords of the mark ``t2i`` that it understands: ``test.selection.asked("name")``."""
    unmeasured: str = ""
    """A sentence for a Fairness Card of a run that did not measure it."""
    place: int = 50
    """Where its sections stand in a report; the smallest stands first."""
    formerly: tuple[str, ...] = ()
    """Fields of its record that stood at the top of a run.json of an older schema."""

    @property
    def record_type(self) -> type[R] | None:
        """A frozen dataclass; None for an audit that keeps nothing."""
        return None

    @property
    def recorded_type(self) -> Any:
        """Type of its part of a baseline file, such as ``dict[str, Mine]``; None for none."""
        return None

    def check(self, context: AuditContext, test: AskedTest) -> None:
        """Refuse, before an image is made, a test that could not be judged.

        Raises ConfigurationError with what to do.
        """

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """What must be made and observed for a test, besides its prompts' detections."""
        return ()

    def record(self, context: AuditContext) -> R | None:
        """Its part of run.json; None where nothing was measured."""
        return None

    def upgraded(self, plain: Any, version: int) -> Any:
        """Plain values of an older version of its record as those of this one."""
        return plain

    def recorded(self, context: AuditContext) -> Any | None:
        """Its part of a baseline file, as plain values; None for none."""
        return None

    def sections(self, record: R, run: Any) -> Sequence[Section]:
        """What reports show; ``run`` is the whole RunRecord."""
        return ()

    def summary(self, record: R) -> Summary:
        """What other places show."""
        return Summary()

    def compare(
        self, models: Sequence[NamedRecord[R]], *, level: float, seed: int
    ) -> Sequence[Section]:
        """What ``t2i compare`` shows of several models besides its table of series."""
        return ()

    def next_steps(self, record: R, context: AuditContext) -> Iterable[Step]:
        """What to do next; the core keeps the four most pressing of all."""
        return ()

    def images_to_decide(self, context: AuditContext, checks: Sequence[Check]) -> int | None:
        """Images per prompt that decide open checks, which are all against the same.

        0: no number would do. None: they are none of its own, or say it themselves.
        """
        return None

    def too_few(
        self, metric: str, bound: float, cases: Sequence[AskedTest], level: float
    ) -> Iterable[str]:
        """What these images cannot decide, said before they are made.

        Asked of each comparison of one of its fixtures with a limit that is known by then, with all
        cases of the test function.
        """
        return ()

    def moved(self, context: AuditContext, recorded: Baseline) -> Sequence[str]:
        """Texts of prompts whose pictures then and now explain a failure, the first first."""
        return ()
