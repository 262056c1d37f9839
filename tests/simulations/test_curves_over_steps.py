"""A short version of the simulation of curves."""

from __future__ import annotations

import pytest
from curves import held


@pytest.mark.parametrize("n", [5, 20])
def test_a_band_holds_where_one_image_in_ten_goes_the_other_way(n):
    # 0.63 and 0.85 of cases before the mirrored mean took part.
    assert held("1 in 10 goes the other way, noise 0.03", n, runs=100, seed=4)[0] >= 91
