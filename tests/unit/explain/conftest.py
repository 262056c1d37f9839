"""Shared by the tests of explain."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True, scope="package")
def few_objects_to_collect():
    """Between two hybrids garbage is collected: what other tests hold is not looked through."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
