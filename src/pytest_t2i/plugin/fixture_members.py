"""The members that fixtures measure: prompts, triplets, stereotypes or detectors of a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_t2i.audits.fixture import About, Fixture
from pytest_t2i.plugin.fixtures import RUN
from pytest_t2i.plugin.project_audits import audits_of_project
from pytest_t2i.runs.selection import Selection


def fixtures_about(config: pytest.Config) -> Mapping[str, Fixture]:
    """Return the fixtures of all audits, by name."""
    return {
        name: fixture
        for audit in audits_of_project(config)
        for name, fixture in audit.fixtures.items()
    }


def members_of(selection: Selection, about: About, config: pytest.Config) -> tuple[Any, ...]:
    """Return the selected members of one kind; detectors come from the run's settings."""
    return _detectors(config) if about == "detectors" else selection.members(about)


def _detectors(config: pytest.Config) -> tuple[str, ...]:
    """Return the names of the run's detectors, or a placeholder that is skipped without one."""
    run = config.pluginmanager.get_plugin(RUN)
    return run.session.detectors if run else ("detector",)
