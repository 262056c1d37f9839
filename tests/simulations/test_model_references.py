"""Fast version of the simulation: the interval covers, the estimate is corrected."""

from __future__ import annotations

import pytest
from model_references import REFERENCES, simulate

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("n", [8, 20, 100])
@pytest.mark.parametrize("reference", REFERENCES)
def test_interval_covers(reference: str, n: int) -> None:
    covers = simulate("sdxl", reference, 100, n, repeats=20, seed=11)
    # 20 intervals at 95 %: 4 or more misses have a chance of 1 in 60.
    assert covers.too_high + covers.too_low <= 3 / 20
    assert covers.width < 0.2


@pytest.mark.parametrize("n", [8, 20])
def test_a_model_that_follows_its_reference_is_corrected(n: int) -> None:
    result = simulate("sdxl", "itself", 100, n, repeats=10, seed=5)
    assert result.plug_in > 0.03
    assert abs(result.error) < 0.5 * result.plug_in
