"""Pytest fixtures, made from the fixtures that audits declare."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

import pytest

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.fixture import Fixture
from pytest_t2i.plugin.fixtures import run_of


def fixtures_of(audits: Iterable[Audit[Any]]) -> ModuleType:
    """Return a plugin that has one pytest fixture for each fixture of an audit."""
    # Pytest looks for fixtures in modules and classes, not in attributes of an instance.
    plugin = ModuleType("t2i_audit_fixtures", __doc__)
    for audit in audits:
        for name, fixture in audit.fixtures.items():
            setattr(plugin, name, _as_pytest_takes_it(name, fixture))
    return plugin


def _as_pytest_takes_it(name: str, fixture: Fixture) -> Any:
    def value(request: pytest.FixtureRequest) -> Any:
        run = run_of(request)
        test = run.test(request.node)
        if reason := fixture.unseen(run.results, test):
            pytest.skip(reason)
        return fixture.make(run.results, test)

    value.__doc__ = fixture.doc
    return pytest.fixture(name=name)(value)
