"""Parametrize marked tests: one case per prompt, triplet, stereotype or detector."""

from __future__ import annotations

import pytest

from pytest_t2i.plugin.fixture_members import fixtures_about, members_of
from pytest_t2i.plugin.marker import read_marker


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Parametrize a marked test. An error is reported as one line."""
    try:
        selection = read_marker(metafunc.definition)
    except pytest.UsageError as error:
        # For any other exception, pytest shows a traceback of its own frames.
        raise pytest.Collector.CollectError(str(error)) from None
    for name, fixture in fixtures_about(metafunc.config).items():
        if name not in metafunc.fixturenames or fixture.about is None:
            continue
        members = members_of(selection, fixture.about, metafunc.config)
        if not members:
            raise pytest.Collector.CollectError(
                f"{metafunc.definition.nodeid}: fixture {name!r} has nothing to measure: give "
                "the marker t2i(...) an axis, prompt, triplet or stereotype"
            )
        if fixture.one_by_one:
            ids = [member if fixture.about == "detectors" else member.id for member in members]
            metafunc.parametrize(name, members, indirect=True, ids=ids)
