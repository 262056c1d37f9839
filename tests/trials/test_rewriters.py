"""A small size of rewriters.py: a planted rewriter is named, a faithful one is not."""

from __future__ import annotations

import pytest
from rewriters import WORLDS, fails, is_named, tried

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_a_rewriter_is_named_where_there_is_one(tmp_path, world):
    checks = tried(world, 100, tmp_path / "project")
    assert len(checks) == 4
    assert is_named(checks) is world.named
    assert bool(fails(checks)) is world.named
