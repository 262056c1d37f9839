"""A running test, for measurements that are compared with limits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_t2i.verdicts.check import Check, JudgingContext, running


@pytest.fixture
def checks() -> Iterator[list[Check]]:
    """The checks that the running test makes."""
    recorded: list[Check] = []
    context = JudgingContext("test", {}, None, ("pass", "status"), 0.95, recorded.append)
    token = running.set(context)
    yield recorded
    running.reset(token)
