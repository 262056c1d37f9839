"""Shared by all tests of this folder."""

from __future__ import annotations

import pytest

from pytest_t2i.generation import heartbeat


@pytest.fixture(autouse=True, scope="session")
def patience():
    """On a busy machine any step may take long: what it prints is to be the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heartbeat, "FIRST", 3600.0)
        yield
