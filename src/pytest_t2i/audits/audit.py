"""The base class of an audit: one question, from the images it needs to the sections it shows.

An audit is registered by an entry point of the group ``pytest_t2i.audits`` or the hook
``pytest_t2i_audits``; built-in audits register the same way as those of other distributions. Every
start of pytest loads the audit classes for their fixtures, so methods import what is heavy
themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pytest_t2i.audits.summary import Summary
from pytest_t2i.data import MetricInfo

if TYPE_CHECKING:
    from pytest_t2i.audits.context import AskedTest, AuditContext
    from pytest_t2i.audits.fixture import Fixture, Keyword
    from pytest_t2i.audits.summary import NamedRecord, Step
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.sections import Section
    from pytest_t2i.verdicts.baseline_file import Baseline
    from pytest_t2i.verdicts.check import Check

R = TypeVar("R")


class Audit(Generic[R]):
    """One question to a model; subclasses override what they need.

    ``R`` is the audit's part of run.json.

    >>> class Nothing(Audit[dict[str, int]]):
    ...     name = "nothing"
    >>> Nothing().needs(None, None), Nothing().sections({}, None)
    ((), ())
    """

    name: str
    """Key of the audit's record; a word of letters and underscores."""
    version: int = 1
    """Version of the audit's record: raise it when ``upgraded`` has to read older ones."""
    after: tuple[str, ...] = ()
    """Names of the audits whose records this audit reads."""
    metrics: Sequence[MetricInfo] = ()
    """The metrics that the audit measures; ``limit("name")`` accepts their names."""
    fixtures: Mapping[str, Fixture] = {}
    """Fixtures that tests can ask for, by name."""
    of_sample: Mapping[str, Callable[[Any], Any]] = {}
    """Name -> function that computes ``sample.NAME`` from a ``Sample``."""
    keywords: Mapping[str, Keyword] = {}
    """Keywords of the marker ``t2i`` that the audit reads with ``test.selection.asked("name")``."""
    unmeasured: str = ""
    """A sentence for the Fairness Card of a run without this audit."""
    place: int = 50
    """Position of the audit's sections in a report; the smallest number comes first."""
    formerly: tuple[str, ...] = ()
    """Fields of the record that an older schema of run.json kept at its top level."""

    @property
    def record_type(self) -> type[R] | None:
        """The frozen dataclass of the audit's record; None for an audit that keeps nothing."""
        return None

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

    def record(self, context: AuditContext) -> R | None:
        """Return the audit's part of run.json; None where nothing was measured."""
        return None

    def upgraded(self, plain: Any, version: int) -> Any:
        """Convert the plain values of an older version of the record to the current version."""
        return plain

    def recorded(self, context: AuditContext) -> Any | None:
        """Return the audit's part of a baseline file, as plain values; None without such a part."""
        return None

    def sections(self, record: R, run: Any) -> Sequence[Section]:
        """Return the sections of a report; ``run`` is the whole RunRecord."""
        return ()

    def summary(self, record: R) -> Summary:
        """Return the figures, series and tables that are shown outside the report's sections."""
        return Summary()

    def compare(
        self, models: Sequence[NamedRecord[R]], *, level: float, seed: int
    ) -> Sequence[Section]:
        """Return the sections that ``t2i compare`` shows besides its table of series."""
        return ()

    def next_steps(self, record: R, context: AuditContext) -> Iterable[Step]:
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
