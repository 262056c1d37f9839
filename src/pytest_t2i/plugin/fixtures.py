"""Fixtures of tests: the run's own, those of audits, and the members that they measure."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_t2i.plugin.exit_status import NO_MODEL

if TYPE_CHECKING:
    from pytest_t2i.audits.audit import Audit, Fixture

RUN = "t2i-run"
"""Name under which the plugin of a run with a model is registered."""


def run_of(request: pytest.FixtureRequest) -> Any:
    """Return the plugin of the run (plugin.run.Run), or skip the test if no model is given."""
    run = request.config.pluginmanager.get_plugin(RUN)
    if run is None:
        pytest.skip(NO_MODEL)
    return run


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Any:
    """The model under test (pytest_t2i.TextToImage)."""
    return run_of(request).session.components.model().get()


@pytest.fixture
def detector(request: pytest.FixtureRequest) -> Any:
    """The detector whose labels decide the verdicts (pytest_t2i.Detector)."""
    return run_of(request).detector()


@pytest.fixture
def baseline(request: pytest.FixtureRequest) -> Any:
    """The recorded run of --t2i-baseline, with that of --t2i-anchor; skips without either."""
    recorded = run_of(request).baseline(request.node)
    if recorded is None:
        pytest.skip(
            "t2i: no baseline given; run with --t2i-baseline FILE, or with --t2i-anchor FILE"
        )
    return recorded


AUDITS = pytest.StashKey["tuple[Audit, ...]"]()
"""Stash key of the configuration: the project's audits."""


def audits_of_project(config: pytest.Config) -> tuple[Audit, ...]:
    """Return all audits that tests of this run can use; cached.

    A conftest.py registers audits with the hook ``pytest_t2i_audits``. Pytest must load this
    conftest.py before it collects tests: the file lies beside the ini file or in a folder that is
    named on the command line.
    """
    if AUDITS not in config.stash:
        from pytest_t2i.errors import T2IError

        try:
            config.stash[AUDITS] = _read(config)
        except T2IError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[AUDITS]


def _read(config: pytest.Config) -> tuple[Audit, ...]:
    from pytest_t2i.adapters.registry import Registries
    from pytest_t2i.audits.discovery import audits_of, installed_audits

    offered = config.hook.pytest_t2i_audits()
    if not offered:
        return installed_audits()
    registries = Registries()
    for audits in offered:
        registries.audits.update(audits)
    return audits_of(registries)


def skip_without_model(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Skip the tests of the marker, and those that ask for a fixture of an audit, with one line."""
    for item in items:
        if item.get_closest_marker("t2i") or _asks_for_an_audit(config, item):
            item.add_marker(pytest.mark.skip(reason=NO_MODEL))


def _asks_for_an_audit(config: pytest.Config, item: pytest.Item) -> bool:
    info = getattr(item, "_fixtureinfo", None)
    if info is None:
        return False
    unknown = set(info.names_closure) - set(info.name2fixturedefs) - {"request"}
    unknown -= set(getattr(getattr(item, "callspec", None), "params", ()))
    return bool(unknown) and any(
        unknown & set(audit.fixtures) for audit in audits_of_project(config)
    )


def fixtures_of(audits: Iterable[Audit]) -> ModuleType:
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
        return fixture.value(run.results, test)

    value.__doc__ = fixture.doc
    return pytest.fixture(name=name)(value)
