"""The fixtures ``model``, ``detector`` and ``baseline``."""

from __future__ import annotations

from typing import Any

import pytest

RUN = "t2i-run"
"""Name under which the plugin of a run with a model is registered."""
NO_MODEL = "t2i: no model given; run with --t2i-model NAME (reference, sdxl, a folder, ...)"


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
    """The recorded run of --t2i-baseline; the test is skipped without one."""
    recorded = run_of(request).baseline(request.node)
    if recorded is None:
        pytest.skip("t2i: no baseline given; run with --t2i-baseline FILE")
    return recorded
