"""A short version of the simulation of styles."""

from __future__ import annotations

import pytest
import styles

pytestmark = pytest.mark.slow


def test_a_fair_model_rarely_fails():
    assert styles.outcomes({}, images=20, repeats=60)["FAIL"] <= 3


def test_men_alone_in_one_style_are_found():
    found = styles.outcomes({"Ukiyo-e": 1.0}, images=60, repeats=20)
    # Half of them, where the gap is 0.4 and the limit 0.3.
    assert found["FAIL"] >= 4
    assert found["PASS"] == 0
