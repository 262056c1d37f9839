"""Fixtures of all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_t2i.adapters import registry


@pytest.fixture
def installed_anew() -> Iterator[None]:
    """What is installed is looked up in this test, and forgotten after it.

    For tests that lay a distribution of their own on the path: otherwise it is read once per
    process.
    """
    registry._installed.cache_clear()
    yield
    registry._installed.cache_clear()
