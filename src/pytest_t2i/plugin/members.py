"""Which fixtures are about members of a test: prompts, triplets, stereotypes, detectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from pytest_t2i.audits.audit import About
from pytest_t2i.plugin.fixtures import RUN
from pytest_t2i.plugin.project_audits import audits_of_project
from pytest_t2i.runs.selection import ONE_BY_ONE, TOGETHER, Selection


class Members(NamedTuple):
    """What a fixture is about."""

    about: About
    one_by_one: bool
    """Whether there is one test case for each member; else one test has them all."""


def fixtures_about(config: pytest.Config) -> Mapping[str, Members]:
    """Every fixture that is about members, those of audits first."""
    return {
        **{
            name: Members(fixture.about, fixture.one_by_one)
            for audit in audits_of_project(config)
            for name, fixture in audit.fixtures.items()
        },
        **{name: Members(about, one_by_one=True) for name, about in ONE_BY_ONE.items()},
        **{name: Members(about, one_by_one=False) for name, about in TOGETHER.items()},
    }


def members_of(selection: Selection, about: About, config: pytest.Config) -> tuple[Any, ...]:
    """What a mark selects of a kind; detectors are those of the run."""
    return _detectors(config) if about == "detectors" else selection.members(about)


def _detectors(config: pytest.Config) -> tuple[str, ...]:
    """Names of the detectors of the run; without one, a placeholder that is skipped."""
    run = config.pluginmanager.get_plugin(RUN)
    return run.session.detectors if run else ("detector",)
