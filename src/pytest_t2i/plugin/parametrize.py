"""Marked tests become test cases: one per prompt, triplet, stereotype or detector."""

from __future__ import annotations

import pytest

from pytest_t2i.plugin.fixtures import RUN
from pytest_t2i.plugin.marker import read_marker
from pytest_t2i.runs.selection import ONE_BY_ONE, TOGETHER


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give a marked test its cases; an error is told as one line."""
    try:
        selection = read_marker(metafunc.definition)
    except pytest.UsageError as error:
        # Told as one line: any other exception at collection shows pytest's own frames.
        raise pytest.Collector.CollectError(str(error)) from None
    if "trial" in metafunc.fixturenames:
        names = _detectors(metafunc.config)
        metafunc.parametrize("trial", names, indirect=True, ids=names)
    for fixture in [*ONE_BY_ONE, *TOGETHER]:
        if fixture not in metafunc.fixturenames:
            continue
        members = selection.members(fixture)
        if not members:
            raise pytest.Collector.CollectError(
                f"{metafunc.definition.nodeid}: fixture {fixture!r} has nothing to be about: give "
                "the mark t2i(...) an axis, prompt, triplet or stereotype"
            )
        if fixture in ONE_BY_ONE:
            ids = [member.id for member in members]
            metafunc.parametrize(fixture, members, indirect=True, ids=ids)


def _detectors(config: pytest.Config) -> list[str]:
    """Names of the detectors of the run; without one, a placeholder that is skipped."""
    run = config.pluginmanager.get_plugin(RUN)
    return list(run.session.detectors) if run else ["detector"]
