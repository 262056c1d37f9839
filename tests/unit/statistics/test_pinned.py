"""Nothing in statistics changes that nobody meant to change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.statistics.pinned import CASES, RECORD, numbers, plain
from unit.statistics.pinned_corners import CORNERS

from pytest_t2i import statistics

KNOWN = json.loads(RECORD.read_text(encoding="utf-8"))
BY_ORACLES = {
    # tests/oracles holds them against other programs.
    "share_interval", "independence_p_value",
}  # fmt: skip
ELSEWHERE = {
    # By hand, by an oracle, or in doctests and tests of their own, at more values than here.
    "adaptive_discarding", "benjamini_hochberg",
    "decidable", "expected_stop", "family_p_values", "family_share_p_values", "fewest_images",
    "holm",
    "gap_interval", "interval_difference",
    "inverted_p_value", "mean_wals_interval",
    "prompt_bias_p_value", "prompt_bias_p_values", "share_p_value", "stopped_share_interval",
    "storey", "wals_at_level",
    "model_images_needed", "one_sided", "parity_shares", "prompt_bias_interval",
    "wals_change_interval", "widest_gap",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES | CORNERS)
def test_results_are_as_recorded(name):
    # Processors differ in the last digits.
    now, known = list(numbers(plain((CASES | CORNERS)[name]()))), list(numbers(KNOWN[name]))
    assert len(now) == len(known)
    for value, recorded in zip(now, known, strict=True):
        if isinstance(recorded, float):
            assert value == pytest.approx(recorded, rel=1e-6, abs=1e-9)
        else:
            assert value == recorded


def test_every_function_is_pinned_or_named():
    functions = {name for name in statistics.__all__ if name[0].islower()}
    assert functions <= set(CASES) | ELSEWHERE | BY_ORACLES
    assert not set(CASES) & (ELSEWHERE | BY_ORACLES)


@pytest.mark.parametrize("name", sorted(BY_ORACLES))
def test_an_oracle_knows_what_is_not_pinned(name):
    oracles = Path(__file__).parents[2] / "oracles"
    assert any(name in file.read_text(encoding="utf-8") for file in oracles.glob("test_*.py"))


def test_a_name_that_never_was_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'mean_of_nothing'"):
        _ = statistics.mean_of_nothing
