"""Fast version of planted_judges.py: labels correct a judge that abstains by group."""

from __future__ import annotations

import numpy as np
import pytest
from planted_judges import JUDGES, row

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("planted", JUDGES[2::5], ids=lambda world: world.name)
def test_what_people_would_say_is_covered(planted):
    result = row(planted, 40, seed=9)
    # 33 of 40 or fewer have a probability of 0.001 at a coverage of 0.95.
    assert np.sum([given.covered for given in result.doubt]) > 33
    assert np.sum([v.false_fail for v in result.verdicts]) < 8
