"""Fixtures of unit tests."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    """Test data beside the project; the test is skipped where there is none."""
    if not SHARED.is_dir():
        pytest.skip("there is no ../shared/data beside the project")
    return SHARED
