"""Evidence that is exactly at the level decides, although 1 - level is inexact in binary.

The level is set such that a p-value, computed apart, is all the error that is left; a little
stricter, and the same evidence decides nothing.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.cli.plan import model_power
from pytest_t2i.statistics.bounding import QUANTILE
from pytest_t2i.statistics.families import decidable, fewest_images, lone_chances
from pytest_t2i.statistics.model import FixedWords
from pytest_t2i.statistics.planning import (
    Design,
    even_biases,
    model_images_needed,
    prompt_power,
)

STRICTER = 1e-9
SIZES = [11, 14, 17, 20, 23]


def beyond(k, n, bound):
    """Chance of a majority of k or more, by either gender, at the limit."""
    edge = (1.0 + bound) / 2.0
    return stats.binom.sf(k - 1, n, edge) + stats.binom.cdf(n - k, n, edge)


@pytest.mark.parametrize("n", SIZES)
def test_all_of_one_gender_fails_at_its_p_value(n):
    level = 1.0 - beyond(n, n, 0.5)
    assert decidable(n, 0.5, level).can_fail
    assert not decidable(n, 0.5, level + STRICTER).can_fail
    assert fewest_images(0.5, level).to_fail == n
    assert fewest_images(0.5, level + STRICTER).to_fail == n + 1


@pytest.mark.parametrize("n", SIZES)
def test_the_evenest_count_passes_at_its_p_value(n):
    level = 1.0 - stats.binom.cdf(n - n // 2, n, 0.75)
    assert decidable(n, 0.5, level).can_pass
    assert not decidable(n, 0.5, level + STRICTER).can_pass


@pytest.mark.parametrize("n", SIZES)
def test_the_fewest_that_fail_are_those_at_the_level(n):
    level = 1.0 - beyond(n - 2, n, 0.3)
    assert lone_chances(n, 0.3, level)[1:4].tolist() == [1.0, 1.0, 0.0]
    assert lone_chances(n, 0.3, level + STRICTER)[1:4].tolist() == [1.0, 0.0, 0.0]


def test_where_no_count_fails_there_is_no_power():
    assert not lone_chances(3, 0.5, 0.95).any()
    assert prompt_power(1.0, 0.5, 3, Design(1)) == 0.0


@pytest.mark.parametrize("n", SIZES)
def test_a_prompts_power_counts_what_is_at_the_level(n):
    passing = stats.binom.cdf(n - n // 2, n, 0.75)
    fair = stats.binom.pmf([n // 2, n - n // 2], n, 0.5)[: 1 + n % 2].sum()
    assert prompt_power(0.0, 0.5, n, Design(1, 1.0 - passing)) == pytest.approx(fair)
    assert prompt_power(0.0, 0.5, n, Design(1, 1.0 - passing + STRICTER)) == 0.0


@pytest.mark.parametrize(("bias", "side"), [(1.0, "p_greater"), (0.0, "p_less")])
def test_power_of_a_model_counts_what_is_at_the_level(bias, side):
    # Prompts of bias 1 show men alone in every run; of bias 0 and one image, always one gender.
    men, n = np.full(4, 6), 6
    bound = 0.6
    if side == "p_greater":
        p = FixedWords.of(men, n - men).p_greater(bound)
        assert model_power(bias, bound, n, Design(4, 1.0 - p, repeats=2)) == 1.0
        assert model_power(bias, bound, n, Design(4, 1.0 - p + STRICTER, repeats=2)) == 0.0
    else:
        p = FixedWords.of(np.ones(4, int), np.zeros(4, int)).p_less(bound)
        assert p == 1.0
        assert model_power(bias, bound, 1, Design(4, repeats=2)) == 0.0


def test_power_that_is_wanted_for_sure_can_be_had():
    men, none = [30] * 5, [0] * 5
    assert model_images_needed(men, none, 0.5, level=0.95, power=1.0) == 4
    assert model_images_needed(men, none, 0.5, level=0.95, power=0.0) == 2
    assert model_images_needed([1, 1], [1, 1], 0.3, level=0.95) is not None


def test_biases_keep_their_mean_from_either_side():
    for mean in (0.02, 0.3, 0.9, 0.995):
        for prompts in (2, 3, 7):
            biases = even_biases(mean, prompts)
            assert biases.mean() == pytest.approx(mean)
            assert np.all((biases >= 0.0) & (biases <= 1.0))
    assert even_biases(0.3, 1).tolist() == [0.3]
    assert even_biases(1.0, 2).tolist() == [1.0, 1.0]


def test_the_weight_of_variance_is_that_of_five_per_cent():
    assert stats.norm.ppf(0.95) == pytest.approx(QUANTILE, abs=1e-4)
