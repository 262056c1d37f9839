"""Shared by the tests of commands."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    """What commands say is matched line by line; workers of xdist have terminals of 80 columns."""
    monkeypatch.setenv("COLUMNS", "400")
