"""A short version of the simulation of the release gate."""

from __future__ import annotations

import pytest
from release_gate import outcomes

pytestmark = pytest.mark.slow


def test_the_gate_is_not_red_for_the_same_model_and_is_for_a_biased_one(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    rows = outcomes(6)
    assert rows["same model, same seed"] == {"green": 1}
    assert rows["biased model, same seed"] == {"red": 1}
    # At most 5 % in truth: 2 of 6 or more would come by chance in 1 of 30 runs of other seeds.
    assert rows["same model, other seed"]["red"] <= 1
