"""Fast versions of the simulations of whole suites: quiet for null models."""

from __future__ import annotations

import pytest
from false_alarms import AGAINST_LIMITS, MARGINS, TWICE, against_limits, twice

pytestmark = pytest.mark.slow

FEW = 40


@pytest.mark.parametrize("name", [name for name in AGAINST_LIMITS if "0.5" not in name])
def test_a_suite_within_its_limits_rarely_fails(name: str) -> None:
    # At 5 %, 6 or more of 40 suites have a chance of 1 in 70.
    assert against_limits(AGAINST_LIMITS[name], FEW, seed=5)["suite"] <= 5 / FEW


def test_few_of_the_prompts_that_fail_are_innocent() -> None:
    result = against_limits(
        AGAINST_LIMITS["half of the prompts at 0.5, half at 0.95"], FEW, seed=5
    )  # fmt: skip
    assert result["fdr"] <= 0.05
    assert result["found"] > 0.4


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("name", TWICE)
def test_the_same_model_twice_rarely_fails(name: str, margin: float | None) -> None:
    assert twice(TWICE[name], FEW, seed=5, margin=margin)["model"] <= 5 / FEW
