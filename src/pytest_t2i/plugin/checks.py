"""The checks that a test made, which pytest's reports carry to the run, also from a worker."""

from __future__ import annotations

import base64
import pickle
from typing import Any

import pytest

from pytest_t2i.data import Outcome
from pytest_t2i.errors import printable
from pytest_t2i.reporting.formatting import change_words
from pytest_t2i.runs.session.session import Session
from pytest_t2i.sections.escaping import line
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.measurement import Compared

CHECKS = pytest.StashKey[list[Check]]()
"""Stash key of an item: the checks that the test made."""
COMPARED = pytest.StashKey[list[Compared]]()
"""Stash key of an item: the records of the values that the test compared."""
INCONCLUSIVE_STATUS = ("inconclusive", "?", ("INCONCLUSIVE", {"yellow": True}))
"""Pytest's category, letter and word for a test with an inconclusive check."""


def pickled(value: Any) -> str:
    """Return frozen records as text, for another process of this run."""
    return base64.b64encode(pickle.dumps(value)).decode()


def unpickled(text: str) -> Any:
    """Return the records that another process of this run has written."""
    return pickle.loads(base64.b64decode(text))  # noqa: S301 - written by our own worker


def note(item: pytest.Item, check: Check) -> None:
    """Keep a check with the test that made it, and as a JUnit property."""
    name = f"{check.metric} {check.subject}"
    if check.is_change:
        name = f"change of {name} since the {check.against}"
    item.user_properties.append((line(f"t2i {name}"), one_line(check)))
    item.stash.setdefault(CHECKS, []).append(check)


def keep(item: pytest.Item, compared: Compared) -> None:
    item.stash.setdefault(COMPARED, []).append(compared)


def clear_checks(item: pytest.Item) -> None:
    """Clear the checks of a test before it runs, as it may run again."""
    item.stash[CHECKS] = []
    item.stash[COMPARED] = []
    item.user_properties[:] = [p for p in item.user_properties if not p[0].startswith("t2i ")]


def shorten(report: Any) -> None:
    """Keep only the first line of an assertion for pytest's list of failed tests.

    Pytest prints all lines there where the variable CI is set; each stands above with its test.
    """
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = crash.message.partition("\n")[0]


def attach(report: Any, item: pytest.Item) -> None:
    """Add the checks and records to the test's report, as text, which xdist can send."""
    report.t2i_judged = pickled((item.stash.get(CHECKS, []), item.stash.get(COMPARED, [])))


def _judged(report: Any) -> tuple[list[Check], list[Compared]]:
    text = getattr(report, "t2i_judged", None)
    return ([], []) if text is None else unpickled(text)


def checks_of(report: Any) -> list[Check]:
    return _judged(report)[0]


def gather(report: Any, session: Session) -> None:
    """Add the checks of a report to the run; those of a repeated test replace the earlier ones."""
    # xdist itself writes the report of a crashed worker: it holds no verdict.
    was_run, is_again = hasattr(report, "t2i_marked"), report.nodeid in session.judged
    if was_run and (report.when == "call" or not report.passed):
        session.judged.add(report.nodeid)
    if report.when == "call" and is_again:
        session.checks[:] = [check for check in session.checks if check.test != report.nodeid]
        session.failed_otherwise[:] = [n for n in session.failed_otherwise if n != report.nodeid]
    checks, compared = _judged(report)
    session.checks += checks
    if report.when == "call" and was_run:
        session.compared[report.nodeid] = compared
    explained = any(_fails(check, session.settings.inconclusive) for check in checks)
    if report.failed and getattr(report, "t2i_marked", True) and not explained:
        session.failed_otherwise.append(report.nodeid)
        session.failed_because[report.nodeid] = _first_line(report)


def sort_by_test(session: Session) -> None:
    """Put the checks and failures of a run in the order of its tests, whichever ended first."""
    places = {node: place for place, node in enumerate(session.tests)}
    last = len(places)
    session.checks.sort(key=lambda check: places.get(check.test, last))
    session.failed_otherwise.sort(key=lambda node: places.get(node, last))


def _first_line(report: Any) -> str:
    """Return the first line of pytest's reason for a failure; "" if there is none."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(report.longrepr) if crash is None else str(crash.message)
    return printable(next((line for line in text.splitlines() if line.strip()), ""))


def _fails(check: Check, policies: tuple[str, str]) -> bool:
    if check.outcome is Outcome.INCONCLUSIVE:
        return policies[check.weighs_on_run] in ("fail", "estimate")
    return check.outcome is Outcome.FAIL


def status_of(report: Any) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Return how pytest shows a passed test with an inconclusive check; None for other tests."""
    if report.when != "call" or not report.passed:
        return None
    inconclusive = any(c.outcome is Outcome.INCONCLUSIVE for c in checks_of(report))
    return INCONCLUSIVE_STATUS if inconclusive else None


def one_line(check: Check) -> str:
    """Return a verdict as the value of a JUnit property."""
    if check.estimate is None:
        return f"{check.outcome} (no evidence) {check.operator} {check.bound:g}"
    interval = (
        change_words(check)
        if check.is_change
        else f"{check.estimate:.4f} [{check.low:.4f}, {check.high:.4f}]"
    )
    return f"{check.outcome} {interval} {check.operator} {check.bound:g} n={check.n}"
