"""Fast version of corrected_prompts.py: single prompts are covered as often as is said."""

from __future__ import annotations

import pytest
from corrected_prompts import trial

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("world", ["fair", "SDXL's rates"])
def test_corrected_prompts_are_covered(world):
    found = trial(world, 5, 6, seed=9)
    assert found["covered"] >= 0.93
    assert found["uncorrected"] < found["covered"]
    assert found["false share"] <= 0.05
