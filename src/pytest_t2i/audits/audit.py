"""The base classes of audits, and the fixtures that they declare."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_t2i.data import MetricInfo, Row

if TYPE_CHECKING:
    from pytest_t2i.audits.engine.context import AskedTest, AuditContext
    from pytest_t2i.audits.engine.early_stopping import StoppingRule
    from pytest_t2i.audits.engine.rows import Rows
    from pytest_t2i.audits.next_step import Step
    from pytest_t2i.data import PromptScore
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.sections import Block, Section
    from pytest_t2i.settings import Settings
    from pytest_t2i.verdicts.baseline_file import Baseline
    from pytest_t2i.verdicts.check import Check

Member = Callable[[Any], Any]
"""A function that computes an attribute of a sample."""


def loaded(reference: str) -> Any:
    """Return what "module:name" names, and import its module.

    >>> loaded("math:pi")
    3.141592653589793
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def attributes(owner: str, *names: str) -> Mapping[str, Member]:
    """Return attributes of a class "module:Class" for ``Audit.of_sample``; they load at first use.

    The class has the type of what it measures, a ``Sample`` or ``Samples``, as its base.
    """

    def member(name: str) -> Member:
        def value(sample: Any) -> Any:
            return vars(loaded(owner))[name].__get__(sample, type(sample))

        return value

    return MappingProxyType({name: member(name) for name in names})


class Audit:
    """One question to a model; subclasses override what they need.

    A subclass yields its rows and names the blocks that no row draws: tables, series and charts
    follow from rows.

    >>> class Height(Audit):
    ...     name, title = "height", "Height"
    ...     def rows(self, context):
    ...         yield Row("height", "model", "model", 1.7)
    >>> Height().needs(None, None), [row.value for row in Height().rows(None)]
    ((), [1.7])
    """

    name: str
    """Key of the audit's record; a word of letters and underscores."""
    after: tuple[str, ...] = ()
    """Names of the audits whose records this audit reads."""
    metrics: Sequence[MetricInfo] = ()
    """The metrics that the audit measures; ``limit("name")`` accepts their names."""
    fixtures: Mapping[str, Fixture] = {}
    """Fixtures that tests can ask for, by name."""
    of_sample: Mapping[str, Member] = {}
    """Name -> function that computes ``sample.NAME`` from a ``Sample``."""
    of_samples: Mapping[str, Member] = {}
    """Name -> function that computes ``samples.NAME`` from ``Samples``."""
    keywords: Mapping[str, Keyword] = {}
    """Keywords of the marker ``t2i`` that the audit reads with ``test.selection.asked("name")``."""
    certified: Sequence[str] = ()
    """Metrics whose worst case over the errors of a detector's certificate is known."""
    unmeasured: str = ""
    """A sentence for the Fairness Card of a run without this audit."""
    title: str = ""
    """Title of the section."""
    reading: str = ""
    """A note that says how to read the section; "{detector}" stands for the detector's name."""
    scope: str = ""
    """A sentence that says what was measured, for a Fairness Card."""
    limitations: Sequence[str] = ()
    """Sentences that say what the numbers do not show."""
    place: int = 50
    """Position of the audit's sections in a report; the smallest number comes first."""

    @property
    def recorded_type(self) -> Any:
        """The type of the audit's part of a baseline file, such as ``dict[str, Mine]``, or None."""
        return None

    def check(self, context: AuditContext, test: AskedTest) -> None:
        """Refuse a test that could not be judged, before an image is made.

        Raises ConfigurationError, whose message names the remedy.
        """

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return what must be made and observed for a test besides its prompts' detections."""
        return ()

    def corrected_sample(self, context: AuditContext, sample: Any) -> Any:
        """Return a ``Sample`` as people's labels of the run's images correct it."""
        return sample

    def corrected_samples(self, context: AuditContext, samples: Any) -> Any:
        """Return the ``Samples`` of a test as people's labels of the run's images correct them."""
        return samples

    def prompt_score(self, sample: Any) -> PromptScore | None:
        """Return what run.json keeps of each prompt, from a ``Sample``; parity alone has such."""
        return None

    def rows(self, context: AuditContext) -> Iterable[Row | Block]:
        """Yield what was measured, and blocks of pictures; nothing where no test asks for it."""
        return ()

    def recorded(self, context: AuditContext) -> Any | None:
        """Return the audit's part of a baseline file, as plain values; None without such a part."""
        return None

    def in_words(self, rows: Rows) -> str:
        """Return what was measured in a line."""
        first = rows.rows[0]
        return f"{self.title.lower()}: {first.value if first.value is not None else first.absent}"

    def blocks(self, rows: Rows, run: Any) -> Sequence[Block]:
        """Return the charts and tables of the section; ``run`` is the whole RunRecord."""
        return ()

    def sections(self, rows: Rows, run: Any) -> Sequence[Section]:
        """Return one section: a line, how to read it, charts and tables."""
        from pytest_t2i.sections import Note, Paragraph, Section

        if not rows.rows:
            return ()
        detector = next((row.facts["detector"] for row in rows if "detector" in row.facts), "")
        words = self.in_words(rows)
        line = [Paragraph(words, "summary")] if words else []
        note = [Note(self.reading.replace("{detector}", str(detector)))] if self.reading else []
        return [Section(self.title, (*line, *note, *self.blocks(rows, run)))]

    def first(self, rows: Rows) -> Row | None:
        """Return the row that the first screen of a report shows; None for none."""
        return None

    def compare(
        self, models: Sequence[tuple[str, Rows, Any]], *, level: float, seed: int
    ) -> Sequence[Section]:
        """Return the sections that ``t2i compare`` shows besides its table of series.

        Each of ``models`` is the name of a model, its rows and its whole RunRecord.
        """
        return ()

    def next_steps(self, rows: Rows, context: AuditContext) -> Iterable[Step]:
        """Return suggestions for what to do next; the core shows the four most pressing."""
        return ()

    def images_to_decide(self, context: AuditContext, checks: Sequence[Check]) -> int | None:
        """Return how many images per prompt would decide open checks against the same bound.

        Returns 0 where no number would decide them, and None where the checks are not of this audit
        or their own texts name the number.
        """
        return None

    def too_few(
        self, metric: str, bound: float, cases: Sequence[AskedTest], level: float
    ) -> Iterable[str]:
        """Warn, before any image is made, about what the planned images cannot decide.

        The plugin calls this for each comparison of one of the audit's fixtures with a limit that
        is known at collection, with all cases of the test function.
        """
        return ()

    def moved(self, context: AuditContext, recorded: Baseline) -> Sequence[str]:
        """Return texts of prompts whose pictures then and now explain a failure, worst first."""
        return ()


About = Literal["prompts", "triplets", "stereotypes", "detectors"]


def _nothing_unmet(settings: Settings) -> str:  # noqa: ARG001 - as it is called
    return ""


def _nothing_unseen(context: AuditContext, test: Any) -> str:  # noqa: ARG001 - as it is called
    return ""


@dataclass(frozen=True, slots=True)
class Fixture:
    """A fixture that tests can ask for.

    >>> Fixture(lambda context, test: test.images, about="prompts").one_by_one
    False
    """

    make: Callable[[AuditContext, Any], Any] | str
    """(context, test) -> the fixture's value; or "module:function", which loads at first use."""
    about: About | None
    """What the marker must name for the fixture; "detectors" needs labelled images and no name;
    None stands for a fixture that is the same for all tests."""
    one_by_one: bool = False
    """Whether each named prompt, triplet or stereotype is a test case of its own; else one test has
    all."""
    doc: str = ""
    """The text that ``pytest --fixtures`` shows."""
    finds: bool = False
    """Whether the fixture needs an object detector."""
    extras: tuple[str, ...] = ()
    """Extras that the fixture needs; missing packages are reported before an image is made."""
    unmet: Callable[[Settings], str] = _nothing_unmet
    """Returns why a run cannot provide the fixture and the test is skipped; "" where it can."""
    unseen: Callable[[AuditContext, Any], str] = _nothing_unseen
    """Returns why the images do not show what is measured, so that the test is skipped; else ""."""
    stopping: str = ""
    """"module:class" of the ``StoppingRule`` of tests of the fixture; "" for tests that never stop
    early."""

    gives: str = ""
    """"module:class" of the value, whose attributes a test is checked for before an image is made;
    "" where they are not known."""

    def value(self, context: AuditContext, test: Any) -> Any:
        """Return the fixture's value for a test."""
        make = loaded(self.make) if isinstance(self.make, str) else self.make
        return make(context, test)

    def attributes(self, audits: Iterable[Audit]) -> tuple[str, ...]:
        """Return all attributes of the value, with those that audits add; () if unknown."""
        return loaded(self.gives).attributes_with(audits) if self.gives else ()

    def stopping_rule(self) -> StoppingRule | None:
        """Return how tests of the fixture may stop early; None where they never do."""
        return loaded(self.stopping)() if self.stopping else None


class Keyword(NamedTuple):
    """A keyword of the marker that an audit reads.

    >>> Keyword(lambda value: tuple(value), default=()).read(["prompt", "image"])
    ('prompt', 'image')
    """

    read: Callable[[Any], Hashable]
    """Given value -> the value that the audit reads; raises ConfigurationError for a wrong one."""
    default: Hashable
    """The value where the marker does not have the keyword."""
