"""The exit status of a run.

It is 0 for passed, 1 failed, 2 interrupted, 4 misused, 5 nothing tested, 6 too few images.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_t2i.runs.record.record import RunRecord

INCONCLUSIVE_STATUS = 6
"""Exit status of an inconclusive run, which is neither a success nor a failure."""
WORST = (
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.INTERNAL_ERROR,
    INCONCLUSIVE_STATUS,
    pytest.ExitCode.NO_TESTS_COLLECTED,
    pytest.ExitCode.OK,
)
"""Exit statuses of one model from worst to best; any other ends a run of several models."""
NO_MODEL = "t2i: no model given; run with --t2i-model NAME (reference, sdxl, a folder, ...)"
GIVE_MODEL = "Run with --t2i-model NAME, or write t2i_model into the ini file"


def set_status_of_tests(session: pytest.Session, *, is_misused: bool, have_stopped: bool) -> None:
    """Set the status as an error of use, or workers that stopped, change it before the report."""
    if is_misused:
        session.exitstatus = pytest.ExitCode.USAGE_ERROR
    if stopped_at_failure(session) and session.exitstatus == pytest.ExitCode.INTERRUPTED:
        # --stepwise interrupts a run, and so do -x and --maxfail under xdist, which fail it alone.
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if have_stopped and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.INTERRUPTED


def stopped_at_failure(session: pytest.Session) -> bool:
    """Whether a test failed and the run stopped, as -x, --maxfail or --stepwise asked."""
    is_stepwise = session.config.getoption("stepwise", default=False)
    return bool(session.shouldfail or (is_stepwise and session.shouldstop))


def exit_status_of(record: RunRecord) -> int:
    from pytest_t2i.data import Outcome

    if record.outcome is Outcome.INTERRUPTED:
        return int(pytest.ExitCode.INTERRUPTED)
    return INCONCLUSIVE_STATUS if record.sets_status else int(pytest.ExitCode.OK)


def worst_status(statuses: Iterable[int]) -> int:
    """Return the worst exit status of several models.

    >>> worst_status([0, 6, 0]), worst_status([6, 1])
    (6, 1)
    """
    return int(min(statuses, key=WORST.index))


class WithoutModel:
    """Counts tests that were skipped for want of a model: where no other ran, nothing succeeded."""

    def __init__(self) -> None:
        self.skipped, self.others = 0, 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what is skipped for want of a model, and what runs or fails."""
        self.skipped += report.skipped and NO_MODEL in str(report.longrepr)
        self.others += report.failed or (report.when == "call" and not report.skipped)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Set the exit status, and print the last line, after pytest's own."""
        is_empty = self.skipped > 0 and self.others == 0
        if is_empty and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
        result = yield
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        if self.skipped and reporter is not None:
            tests = f"{self.skipped} test{'' if self.skipped == 1 else 's'}"
            what = f"nothing was tested: {tests}" if is_empty else tests
            reporter.write_line(
                f"t2i: {what} skipped for want of a model. {GIVE_MODEL}", yellow=True
            )
        return result
