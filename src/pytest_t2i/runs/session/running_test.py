"""One running test: its comparisons are judged with all that the run knows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pytest_t2i.data import Limit, Outcome
from pytest_t2i.runs.session.certified import certified_errors
from pytest_t2i.runs.session.earlier_looks import earlier_looks
from pytest_t2i.runs.session.repeats import open_because
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.selection import SelectedTest
from pytest_t2i.verdicts.certificate import CertifiedErrors
from pytest_t2i.verdicts.check import Check, JudgingContext, running
from pytest_t2i.verdicts.measurement import Compared, Measurement
from pytest_t2i.verdicts.run_level import LevelShare


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTest(JudgingContext):
    """A test of a run: its pictures, the detector's certificate, and earlier runs."""

    results: Results
    selected: SelectedTest

    def open_because(self, measurement: Measurement) -> str:
        """Return why a measurement of the test cannot be decided; "" where it can."""
        return open_because(self.results, self.selected, measurement)

    def with_looks(self, check: Check) -> Check:
        """Return a decided check, saying which earlier runs looked at the same comparison."""
        if check.outcome is Outcome.INCONCLUSIVE:
            return check
        if not (words := earlier_looks(self.results, self.selected, check)):
            return check
        return replace(check, message=f"{check.message}; {words}" if check.message else words)

    def certified(self, measurement: Measurement) -> CertifiedErrors | None:
        """Return the detector's errors that the certificate allows; None where none is known."""
        return certified_errors(self.results, self.selected, measurement)


@contextmanager
def judging(
    results: Results,
    node_id: str,
    record: Callable[[Check], None],
    keep: Callable[[Compared], None],
    limits: Mapping[str, Limit],
    limits_file: Path | None = None,
) -> Iterator[None]:
    """Judge the comparisons of a test in this context; ``record`` takes each check."""
    settings, test = results.settings, results.session.tests.get(node_id)
    run_level = results.session.run_level
    kind = partial(JudgedTest, results=results, selected=test) if test else JudgingContext
    context = kind(
        node_id,
        limits,
        limits_file,
        settings.inconclusive,
        settings.confidence,
        record,
        None if run_level is None or test is None else LevelShare(run_level, test.counted),
        keep,
    )
    token = running.set(context)
    try:
        yield
    finally:
        running.reset(token)
