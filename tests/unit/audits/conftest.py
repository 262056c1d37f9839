"""A running test, for audits whose measurements are compared with limits, and their metrics."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_t2i.metrics import info
from pytest_t2i.verdicts.check import Check, JudgingContext, running


@pytest.fixture
def checks() -> Iterator[list[Check]]:
    """The checks that the running test makes."""
    recorded: list[Check] = []
    context = JudgingContext("test", {}, None, ("pass", "status"), 0.95, recorded.append)
    token = running.set(context)
    yield recorded
    running.reset(token)


@pytest.fixture(autouse=True, scope="module")
def metrics_of_the_module(request):
    """Metrics that the module names in ``METRICS_OF_THE_MODULE``, and no other module's."""
    before = dict(info._KNOWN)
    for metric in getattr(request.module, "METRICS_OF_THE_MODULE", ()):
        info.register(metric)
    yield
    info._KNOWN.clear()
    info._KNOWN.update(before)
