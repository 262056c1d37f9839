"""How many images a comparison takes is told alike from few images and from many."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.statistics.baseline.change import unmoved_model_bias_change
from pytest_t2i.statistics.planning.change import COARSE, change_images_needed, detectable


def would_find(pair):
    change = unmoved_model_bias_change(*pair, level=0.95)
    return float(detectable(change, 0.95) <= COARSE)


def runs(shares, images, seed):
    rng = np.random.default_rng(seed)
    men, now = (rng.binomial(images, shares) for _ in range(2))
    return men, images - men, now, images - now


@pytest.mark.parametrize("images", [2, 4, 12])
def test_the_number_that_few_images_promise_decides(images):
    shares, decided = np.full(4, 0.5), 0.0
    for seed in range(10):
        needed = change_images_needed(*runs(shares, images, seed), would_find)
        # 70 decide half of the runs of this world, 80 all; scaled by the root it was 41.
        assert 50 <= needed <= 100
        decided += would_find(runs(shares, needed, 100 + seed))
    assert decided >= 8


def test_it_takes_more_images_where_fewer_prompts_are_compared():
    needed = [change_images_needed(*runs(np.full(k, 0.5), 8, 0), would_find) for k in (2, 4, 8)]
    assert needed == sorted(needed, reverse=True)
    assert needed[0] > needed[-1]


def test_rates_that_changed_are_kept_apart():
    def share_of_growth(pair):
        return float(np.mean(pair[2] > pair[0]))

    counts = ([5] * 6, [5] * 6, [10] * 6, [0] * 6)
    assert change_images_needed(*counts, share_of_growth, changed=True, power=0.9) is not None
    assert change_images_needed(*counts, share_of_growth, power=0.9) is None


def test_prompts_without_a_clear_image_on_a_side_play_no_part():
    counts = ([3, 0, 9], [3, 0, 1], [3, 4, 0], [3, 4, 0])
    assert change_images_needed(*counts, lambda pair: float(len(pair[0]) == 1)) == 10


def test_no_number_is_promised_that_does_not_decide():
    assert change_images_needed([1], [1], [1], [1], lambda _: 0.0) is None
    with pytest.raises(ValueError, match="power"):
        change_images_needed([1], [1], [1], [1], lambda _: 0.0, power=1.5)
    with pytest.raises(ValueError, match="no clear image"):
        change_images_needed([0], [0], [1], [1], lambda _: 1.0)
