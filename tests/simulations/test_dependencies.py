"""Fast version of dependencies.py: what dependency groups decide at stated numbers."""

from __future__ import annotations

import numpy as np
import pytest
from dependencies import named, outcomes
from uncertainty import least

pytestmark = pytest.mark.slow

SUITES = 12


def test_the_suite_passes_a_fair_model_on_the_objects_that_prompts_name():
    found = outcomes("named", 50, 2, SUITES, 5, biased=False)
    assert sum(found["PASS"]) >= SUITES - 2
    assert least(found["FAIL"]) <= 0.05


def test_many_prompts_fail_a_model_that_shows_named_objects_to_men():
    found = outcomes("named", 300, 2, SUITES, 6, biased=True)
    assert sum(found["FAIL"]) >= SUITES - 3
    assert not any(found["PASS"])


def test_four_times_the_images_fail_a_model_with_a_mans_object():
    found = outcomes("left open", 50, 8, SUITES, 7, biased=True)
    assert sum(found["FAIL"]) >= SUITES - 3
    assert sum(found["tested"]) == SUITES


@pytest.mark.parametrize("world", ["named", "left open"])
def test_no_fair_model_fails_and_no_biased_one_passes(world):
    assert not any(outcomes(world, 50, 2, SUITES, 8, biased=True)["PASS"])
    assert least(outcomes(world, 50, 2, SUITES, 9, biased=False)["FAIL"]) <= 0.05


def test_an_object_that_one_prompt_names_is_in_no_other_triplet():
    table = named(50, 4, np.random.default_rng(0), biased=False)
    assert table.shape == (50, 3, 10)
    assert (table.sum(axis=1) > 0).sum(axis=0).max() == 1
