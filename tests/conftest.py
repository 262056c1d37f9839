"""Shared by all tests of this folder."""

from __future__ import annotations

import pytest

from pytest_t2i.generation import heartbeat
from pytest_t2i.metrics import info


@pytest.fixture(autouse=True, scope="session")
def patience():
    """On a busy machine any step may take long: what it prints is to be the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heartbeat, "FIRST", 3600.0)
        yield


@pytest.fixture(autouse=True, scope="module")
def metrics_of_the_module(request):
    """Metrics that the module names in ``METRICS_OF_THE_MODULE``, and no other module's."""
    before = dict(info._KNOWN)
    for metric in getattr(request.module, "METRICS_OF_THE_MODULE", ()):
        info.register(metric)
    yield
    info._KNOWN.clear()
    info._KNOWN.update(before)
