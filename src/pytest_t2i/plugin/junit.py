"""The run's verdict and counts of checks as properties in pytest's JUnit file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_t2i.data import Outcome

if TYPE_CHECKING:
    from pytest_t2i.runs.session import Session


class JUnitTotals:
    """Adds the counts of passed, failed and inconclusive checks before pytest writes the file."""

    def __init__(self, config: pytest.Config, session: Session) -> None:
        self._config, self._session = config, session

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the properties; all reports have arrived."""
        xml = _writer(self._config)
        if xml is None:
            return
        outcomes = [check.outcome for check in self._session.checks]
        for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE):
            xml.add_global_property(f"t2i {outcome}", str(outcomes.count(outcome)))
        if session.exitstatus == pytest.ExitCode.INTERRUPTED:
            xml.add_global_property("t2i", str(Outcome.INTERRUPTED))


def _writer(config: pytest.Config) -> Any:
    """Return pytest's JUnit writer; None without --junitxml."""
    from _pytest.junitxml import xml_key

    return config.stash.get(xml_key, None)
