"""Checks travel from a running test to the process where the reports come together."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import msgspec
import pytest

from pytest_t2i.data import Outcome
from pytest_t2i.runs.session import Session
from pytest_t2i.verdicts.check import Check

CHECKS = pytest.StashKey[list[Check]]()
"""Of an item: the comparisons that it made."""


def note(item: pytest.Item, check: Check) -> None:
    """Keep a check with the test that made it, and as a JUnit property."""
    item.user_properties.append((f"t2i {check.metric} {check.subject}", one_line(check)))
    item.stash.setdefault(CHECKS, []).append(check)


def attach(report: Any, checks: list[Check]) -> None:
    """Let a test's checks travel with its report; between processes xdist carries plain types."""
    report.t2i_checks = json.loads(json.dumps([asdict(check) for check in checks]))


def gather(report: Any, session: Session) -> None:
    """Take over the checks of a report."""
    checks = msgspec.convert(getattr(report, "t2i_checks", []), list[Check])
    session.checks += checks
    # Only where an INCONCLUSIVE check can fail its test does it explain the failure.
    failing = {Outcome.FAIL}
    if session.settings.inconclusive != "pass":
        failing.add(Outcome.INCONCLUSIVE)
    explained = any(check.outcome in failing for check in checks)
    if report.failed and getattr(report, "t2i_marked", False) and not explained:
        session.failed_otherwise.append(report.nodeid)


def one_line(check: Check) -> str:
    """A verdict as a JUnit property."""
    if check.estimate is None:
        return f"{check.outcome} (no evidence) {check.operator} {check.bound:g}"
    interval = f"{check.estimate:.4f} [{check.low:.4f}, {check.high:.4f}]"
    return f"{check.outcome} {interval} {check.operator} {check.bound:g} n={check.n}"
