"""The least that each function takes is taken, and what is one less is refused; ties count."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pytest_t2i import statistics as s
from pytest_t2i.data import Interval
from pytest_t2i.statistics.change import paired_prompt_p_value
from pytest_t2i.statistics.correction import effective_counts, estimates, signs_of
from pytest_t2i.statistics.curves import mean_band, settled_step
from pytest_t2i.statistics.detectors import deviation_interval, fleiss_interval, paired_share_change
from pytest_t2i.statistics.distances import total_variation_floor
from pytest_t2i.statistics.families import decidable, fewest_images
from pytest_t2i.statistics.gaps import parity_shares
from pytest_t2i.statistics.means import gap_sign_p_value
from pytest_t2i.statistics.model import (
    Sizes,
    equal_magnitudes,
    least_shown,
    score_tails,
)
from pytest_t2i.statistics.permutation import paired_change_p_value
from pytest_t2i.statistics.planning import Design, prompt_power
from pytest_t2i.statistics.variety import wals_interval

NAN = float("nan")
NONE, ONES = [0] * 5, [1] * 5
OPTIONS = {"level": 0.9, "seed": 0}
TABLE = np.random.default_rng(1).poisson(3.0, (4, 2, 3))
FIVE = [1, -1, 1, 1, 1]


def labelled(number):
    """People's groups of six images, of which so many are labelled."""
    return [1, 0, 1, 0, 1, 0][:number] + [NAN] * (6 - number)


LEAST = [
    (1000, "redraws", lambda n: s.change_p_value([2], [0], [1], [1], seed=0, redraws=n)),
    (1000, "redraws", lambda n: paired_change_p_value([[1, 1]], [[1, -1]], seed=0, redraws=n)),
    (1, "images", lambda n: prompt_power(0.5, 0.5, n, Design(1))),
    (1, "prompts", lambda n: prompt_power(1.0, 0.5, 3, Design(n))),
    (1, "n must", lambda n: decidable(n, 0.5, 0.95)),
    (1, "prompts", lambda n: decidable(3, 0.5, 0.95, n)),
    (1, "n must", lambda n: paired_share_change(0, 0, n, 0.9)),
    (2, "triplets", lambda n: s.independence_p_value(TABLE[:n], **OPTIONS, permutations=100)),
    (2, "triplets", lambda n: s.object_bias_intervals(TABLE[:n, 0], TABLE[:n, 1], level=0.9)),
    (2, "two items", lambda n: fleiss_interval([[1, 1], [2, 0]][:n], **OPTIONS)),
    (5, "5 prompts", lambda n: deviation_interval(*[[3, 5, 4, 2, 1][:n], [1] * n] * 2, level=0.9)),
    (2, "two models", lambda n: s.ranking([[3], [2]][:n], [[1], [2]][:n], **OPTIONS)),
    (
        5,
        "labels",
        lambda n: s.corrected_scores([[1] * 5], [[1, -1, 1, 1, 1][:n] + [NAN] * (5 - n)], 0.9),
    ),
    (2, "two values", lambda n: s.mean_interval([[0.5], [0.7]][:n], level=0.9)),
    (4, "4 images", lambda n: wals_interval(np.eye(4)[:n] + 1.0, np.eye(4)[0], **OPTIONS)),
]


@pytest.mark.parametrize(("least", "name", "call"), LEAST)
def test_the_least_is_taken_and_one_less_refused(least, name, call):
    call(least)
    with pytest.raises(ValueError, match=name):
        call(least - 1)


SHAPES = [
    ("labels", lambda: total_variation_floor([1, 2], [0.5, 0.5])),
    ("labels", lambda: total_variation_floor([[1], [2]], [1.0])),
    ("reference must have the shape", lambda: total_variation_floor([[1, 2]], [[0.5, 0.5]] * 2)),
    ("for prompt 1", lambda: total_variation_floor([[1, 2]] * 2, [[0.5, 0.5], [0.5, 0.7]])),
    ("no image in 2 prompts", lambda: total_variation_floor([[0, 0]] * 2, [0.5, 0.5])),
    ("triplets", lambda: s.independence_p_value(TABLE[:, 0], **OPTIONS)),
    ("curves", lambda: mean_band(np.zeros((3, 0)), level=0.9)),
    ("equally long, got 1 and 0", lambda: paired_change_p_value([[1]], [], seed=0)),
    ("must hold 1, -1 or 0", lambda: paired_change_p_value([[0.5]], [[1]], seed=0)),
    ("must hold 1, -1 or 0", lambda: paired_prompt_p_value([0.5], [1], shared_seeds=False)),
    ("not exceed n", lambda: paired_share_change(5, 6, 10, 0.9)),
    ("n must be at least 1", lambda: paired_share_change(0, 0, 0, 0.9)),
    (
        "each hold a clear",
        lambda: deviation_interval([0] * 5, [0] * 5, [1] * 5, [0] * 5, level=0.9),
    ),
    ("must be above 0", lambda: deviation_interval([1] * 5, [0] * 5, [1] * 5, [1] * 5, level=0.9)),
    ("both be 0, got prompt 1", lambda: effective_counts([1, 0], [1, 0], [0.1, 0.1])),
    ("sign must be 1 or -1", lambda: gap_sign_p_value([[0.1, 0.2]] * 2, sign=0)),
    ("at least one group", lambda: parity_shares({}, level=0.9)),
]


@pytest.mark.parametrize(("says", "call"), SHAPES)
def test_what_has_another_shape_is_refused(says, call):
    with pytest.raises(ValueError, match=says):
        call()


def test_what_can_be_decided_by_few_and_many_prompts():
    # All of 11 images fail alone; of two to four prompts by Benjamini-Hochberg; from five on more.
    assert decidable(10, 0.5, 0.95) == (False, False)
    assert decidable(11, 0.5, 0.95) == (False, True)
    assert decidable(14, 0.5, 0.95) == (True, True)
    fewest = [fewest_images(0.5, 0.95, prompts) for prompts in (1, 2, 3, 4, 5, 6, 100)]
    assert [entry.to_pass for entry in fewest] == [14] * 7
    # p = 0.75^n + 0.25^n, times the prompts, is at most 0.05.
    by_hand = [
        next(n for n in range(1, 99) if k * (0.75**n + 0.25**n) <= 0.05) for k in range(1, 5)
    ]
    assert [entry.to_fail for entry in fewest[:4]] == by_hand
    assert [entry.to_fail for entry in fewest[4:]] == [14] * 3


def test_no_chance_exceeds_one():
    sizes = [Sizes((n,), (k,)) for n, k in product((1, 2, 5, 9, 20), (1, 3, 10))]
    for size in [*sizes, Sizes((2, 7), (3, 4)), Sizes((1, 5, 30), (2, 1, 6))]:
        for mean in (0.0, 0.3, 0.77, 1.0):
            bias = least_shown(size, mean)
            assert score_tails(size, bias, 0.0).above == pytest.approx(1.0)
            assert score_tails(size, bias, 1.0).below == pytest.approx(1.0)
            assert score_tails(size, bias, 0.0).above <= 1.0
            assert score_tails(size, bias, 1.0).below <= 1.0
    assert least_shown(Sizes((9,), (4,)), 0.3) == equal_magnitudes(Sizes((9,), (4,)), 0.3)


def test_no_score_exceeds_one():
    for n, prompts in product((1, 2, 7, 20), (1, 2, 9)):
        assert s.corrected_model_bias_score([n] * prompts, [0] * prompts) <= 1.0
        interval = s.model_bias_interval([n] * prompts, [0] * prompts, **OPTIONS)
        assert 0.0 <= interval.low <= interval.estimate <= interval.high <= 1.0


def test_a_detector_is_used_between_not_at_all_and_fully():
    def power(words, labels):
        return estimates([signs_of(words, labels, 0)], clear=False).power

    assert power([1, -1] * 4, [1, -1] * 3 + [NAN] * 2) == 1.0
    assert power([1, -1] * 4, [-1, 1] * 3 + [NAN] * 2) == 0.0  # against it
    assert power([1, 0] * 4, [1, -1] * 3 + [NAN] * 2) == 1.0  # two for each step of its own
    assert power([1] * 6 + [-1], [1, -1] * 3 + [NAN]) == 0.0  # it says one thing alone
    assert power([1, -1] * 5, [1, -1, 0, 0] * 2 + [NAN] * 2) == 0.5


def test_an_object_seen_once_may_be_fair():
    once, never = [[1], [0], [0], [0]], [[0]] * 4
    (interval,) = s.object_bias_intervals(once, never, level=0.2)
    assert (interval.estimate, interval.low) == pytest.approx((1.0, 0.5))


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_settled_where_the_ends_belong_to_the_interval(level):
    final = Interval(0.5, 0.4, 0.6, level, "test", 9)
    assert settled_step([0.4, 0.6, 0.5], final) == 1
    assert settled_step([0.39, 0.6, 0.5], final) == 2
    assert settled_step([0.5, 0.61, 0.5], final) == 3
