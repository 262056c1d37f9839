"""What an audit is: one question, from what it needs to what it shows.

An audit is registered by an entry point of the group ``pytest_t2i.audits`` or the hook
``pytest_t2i_audits``, the built-in ones as those of others. Its class is light: what is heavy is
imported by the methods that need it, as every start of pytest loads the class for its fixtures.
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
    """One question to a model; override what it has. ``R`` is its part of run.json.

    >>> class Nothing(Audit[dict[str, int]]):
    ...     name = "nothing"
    >>> Nothing().needs(None, None), Nothing().sections({}, None)
    ((), ())
    """

    name: str
    """Key of its record; a word of letters and underscores."""
    version: int = 1
    """Version of the audit's record: raise it when ``upgraded`` has to read older ones."""
    after: tuple[str, ...] = ()
    """Audits whose records it reads."""
    metrics: Sequence[MetricInfo] = ()
    """What it measures; ``limit("name")`` knows them."""
    fixtures: Mapping[str, Fixture] = {}
    """What tests receive."""
    of_sample: Mapping[str, Callable[[Any], Any]] = {}
    """Name -> what ``sample.NAME`` gives, computed from a ``Sample``."""
    keywords: Mapping[str, Keyword] = {}
    """Keywords of the marker ``t2i`` that it understands: ``test.selection.asked("name")``."""
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
