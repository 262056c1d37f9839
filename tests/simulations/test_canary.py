"""The canary keeps its error level in every world, and tells another model."""

from __future__ import annotations

import canary
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("world", list(canary.WORLDS))
def test_one_model_is_rarely_taken_for_two(world):
    found = canary.alarms(canary.WORLDS[world], 10, None, repeats=60, looks=10)
    # 5 % of 60, and three standard errors.
    assert sum(look is not None for look in found) <= 8


@pytest.mark.parametrize(
    ("world", "change", "least"),
    [
        ("bytes equal", "redraws half", 20),
        ("jitter", "redraws all", 20),
        ("changed a bit", "by 4 of 255", 20),
        ("draws", "men by 0.4", 15),
    ],
)
def test_another_model_is_told_within_five_looks(world, change, least):
    kind = canary.WORLDS[world]
    found = canary.alarms(kind, 50, kind.changes[change], repeats=20, looks=5)
    assert sum(look is not None for look in found) >= least
