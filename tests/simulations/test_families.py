"""Fast version of families.py: few wrong verdicts, many right ones."""

from __future__ import annotations

import pytest
from families import COMPANY, failing_within, verdicts

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("images", [8, 10, 14, 20, 40, "2 to 40", "20, 30 % lost"])
def test_where_all_lie_at_the_limit_hardly_any_suite_fails(images):
    # At 5 %, 8 or more of 60 suites have a chance of 1 in 80.
    assert verdicts("all at the limit", images, 60, seed=1)["wrong fails"] <= 7 / 60


def test_few_that_fail_are_innocent_and_most_are_seen():
    result = verdicts("half at 0.95, half at the limit", 20, 60, seed=1)
    assert result["wrong fails"] <= 0.05
    assert result["found"] > 0.86 > result["found by bh"]
    few = verdicts("5 of 100 one-sided, others fair", 20, 60, seed=1)
    assert few["found"] > 0.97
    assert few["found by bh"] < 0.1


def test_a_fair_prompt_passes_in_half_of_the_cases():
    assert verdicts("fair", 20, 60, seed=1)["passed"] == pytest.approx(0.497, abs=0.03)
    beyond = verdicts("evenly from 0 to 1", 20, 60, seed=1)
    assert beyond["wrong passes per prompt"] <= 0.05


def test_the_cap_keeps_a_prompt_at_its_limit_from_failing_in_company():
    score = COMPANY["95 one-sided, 5 at the limit"]
    assert failing_within(score, 20, 60) < 0.12
