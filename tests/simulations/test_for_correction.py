"""Fast version of for_correction.py: narrower, and it holds what people would say."""

from __future__ import annotations

import numpy as np
import pytest
from for_correction import WORLDS, row
from uncertainty import least

pytestmark = pytest.mark.slow
KNOWN = {world.name: world for world in WORLDS}


@pytest.mark.parametrize("name", ["SDXL, sure or guessing", "fair, sure or guessing"])
def test_labels_where_they_decide_narrow_the_interval(name):
    of = row(KNOWN[name], 20, seed=5)
    own, evenly = (np.mean([t.half_width for t in way]) for way in (of.doubt, of.even))
    # 0.63 and 0.75 in the table.
    assert own < 0.8 * evenly
    assert least([not t.covered for t in of.doubt]) <= 0.07
    for wrong in ([v.false_fail for v in of.verdicts], [v.false_pass for v in of.verdicts]):
        assert least(wrong) <= 0.05
