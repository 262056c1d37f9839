"""Which fixtures are about members of a test: prompts, triplets, stereotypes, detectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_t2i.audits.fixture import About, Fixture
from pytest_t2i.plugin.fixtures import RUN
from pytest_t2i.plugin.project_audits import audits_of_project
from pytest_t2i.runs.selection import Selection


def fixtures_about(config: pytest.Config) -> Mapping[str, Fixture]:
    """The fixtures of all audits, by name."""
    return {
        name: fixture
        for audit in audits_of_project(config)
        for name, fixture in audit.fixtures.items()
    }


def members_of(selection: Selection, about: About, config: pytest.Config) -> tuple[Any, ...]:
    """What a marker selects of a kind; detectors are those of the run."""
    return _detectors(config) if about == "detectors" else selection.members(about)


def _detectors(config: pytest.Config) -> tuple[str, ...]:
    """Names of the detectors of the run; without one, a placeholder that is skipped."""
    run = config.pluginmanager.get_plugin(RUN)
    return run.session.detectors if run else ("detector",)
