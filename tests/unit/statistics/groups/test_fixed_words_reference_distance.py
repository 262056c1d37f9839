"""Ends of a mean distance: by bounding functions, and by what the plug-in leaves room for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.statistics.groups.fixed_words_reference_distance import (
    Parts,
    bounding_mean,
    ceiling,
    fixed_ends,
)


@pytest.mark.parametrize(("men", "n", "share"), [([9, 10, 9], 10, 0.8), ([24, 34, 36], 40, 0.3)])
def test_the_plug_in_with_its_error_is_a_ceiling(men, n, share):
    parts = Parts(np.array(men)[:, None], np.full(3, n), np.full((3, 1), share), 1.0)
    student = stats.t.ppf(0.975, 3 * (n - 1))
    bounding, error = bounding_mean(parts, "above")
    shown = np.mean(np.abs(np.array(men) / n - share))
    top = ceiling(parts, shown + student * error)
    assert shown < top < bounding + student * error
    assert fixed_ends(parts, 0.95)[1] == pytest.approx(top)
