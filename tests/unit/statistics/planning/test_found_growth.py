"""The growth that the exact test finds, from where prompts are."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.statistics.baseline.change import unmoved_model_bias_change
from pytest_t2i.statistics.planning.change import detectable, found_growth


def of(share, prompts, n):
    men = np.full(prompts, round(share * n))
    return men, n - men, men, n - men


def test_from_even_prompts_it_takes_more_than_the_tables_error():
    even, far = of(0.5, 100, 20), of(0.8, 100, 20)
    least = [
        detectable(unmoved_model_bias_change(*counts, level=0.95), 0.95) for counts in (even, far)
    ]
    assert found_growth(*even, level=0.95) > 1.5 * least[0]
    assert found_growth(*far, level=0.95) == pytest.approx(least[1], abs=0.02)


def test_where_there_is_no_room_the_tables_error_is_told():
    full = of(1.0, 30, 20)
    least = detectable(unmoved_model_bias_change(*full, level=0.95), 0.95)
    assert found_growth(*full, level=0.95) == least


def test_it_is_alike_for_prompts_of_women_and_of_men():
    assert found_growth(*of(0.2, 30, 20), level=0.95) == found_growth(*of(0.8, 30, 20), level=0.95)


def test_prompts_without_two_clear_images_say_nothing():
    known = of(0.5, 40, 20)
    more = [np.append(counts, 1 - side % 2) for side, counts in enumerate(known)]
    assert found_growth(*more, level=0.95) == found_growth(*known, level=0.95)
