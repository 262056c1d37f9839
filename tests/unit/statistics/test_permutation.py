"""Growth of the distance from even shares between two runs."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.data import Interval
from pytest_t2i.statistics.gaps import interval_difference
from pytest_t2i.statistics.permutation import _excess, even_floors, group_change_p_value

HOW = {"seed": 0}


def drawn(rng, shares, prompts, images):
    return [rng.choice(len(shares), images, p=shares) for _ in range(prompts)]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.slow
def test_the_same_model_is_seldom_found_to_have_moved(shared):
    rng, found = np.random.default_rng(1), 0
    for repeat in range(200):
        old, new = (drawn(rng, (0.5, 0.3, 0.2), 6, 10) for _ in range(2))
        found += (
            group_change_p_value(old, new, 3, seed=repeat, shared_seeds=shared, redraws=1000)
            <= 0.05
        )
    # Binomial(200, 0.05) exceeds 18 in less than 1 % of repetitions.
    assert found <= 18


def test_swapping_within_pairs_sees_what_redrawing_does_not():
    rng = np.random.default_rng(3)
    old = drawn(rng, (0.4, 0.3, 0.3), 8, 20)
    # Two images of each prompt become the first group; all others stay what they are.
    new = [np.where(np.arange(20) < 3, 0, row) for row in old]
    paired, alone = (
        group_change_p_value(old, new, 3, **HOW, shared_seeds=shared) for shared in (True, False)
    )
    assert paired < 0.01 < alone


def test_prompts_without_a_label_on_either_side_play_no_part():
    old, new = [[0, 1, 2] * 4, [-1] * 12], [[0, 0, 0] * 4, [0] * 12]
    assert group_change_p_value(old, new, 3, **HOW, shared_seeds=True) == group_change_p_value(
        old[:1], new[:1], 3, **HOW, shared_seeds=True
    )
    assert group_change_p_value([[-1]], [[0]], 3, **HOW, shared_seeds=True) == 1.0


@pytest.mark.parametrize(
    ("old", "new", "more", "message"),
    [
        ([[0, 3]], [[0, 1]], {}, r"before\[0\] must hold -1 to 2, got \[0, 3\]"),
        ([[0, 0.5]], [[0, 1]], {}, r"before\[0\] must hold -1 to 2"),
        ([[0, 1, 2]], [[0, 1]], {}, r"before\[0\].*after\[0\]"),
        ([[0, 1]], [[0, 1]], {"redraws": 10}, "redraws must be at least 1000, got redraws=10"),
    ],
)
def test_what_is_none_is_refused(old, new, more, message):
    with pytest.raises(ValueError, match=message):
        group_change_p_value(old, new, 3, **{**HOW, **more}, shared_seeds=True)


def test_floors_are_what_even_shares_show():
    rng = np.random.default_rng(0)
    counts = rng.multinomial(12, [0.25] * 4, size=20_000)
    shown = np.abs(counts / 12 - 0.25).sum(axis=1).mean() / 2
    assert even_floors(12, 4)[12] == pytest.approx(shown, abs=0.003)


def test_a_difference_of_intervals_by_hand():
    before, after = (Interval(m, m - 0.3, m + 0.4, 0.9, "", n) for m, n in ((0.5, 7), (0.9, 9)))
    grown = interval_difference(before, after)
    assert (grown.estimate, grown.n, grown.level) == (pytest.approx(0.4), 7, 0.9)
    assert (grown.low, grown.high) == (pytest.approx(0.4 - 0.5), pytest.approx(0.4 + 0.5))
    with pytest.raises(ValueError, match=r"expected equal levels, got 0.9 and 0.95"):
        interval_difference(before, Interval(0.1, 0.0, 0.2, 0.95, "", 3))


@pytest.mark.parametrize(("low", "is_even"), [(0.0, True), (0.03, True), (0.05, False)])
def test_a_score_that_may_be_even_is_taken_for_it(low, is_even):
    may_be, other = Interval(0.2, low, 0.5, 0.9, "", 9), Interval(0.6, 0.5, 0.7, 0.9, "", 9)
    grown, fell = interval_difference(may_be, other), interval_difference(other, may_be)
    assert (grown.high == other.high) is is_even
    assert (fell.low == -other.high) is is_even


@pytest.mark.parametrize("images", [5, 12])
def test_even_shares_exceed_what_chance_shows_by_nothing(images):
    labels = np.random.default_rng(4).integers(0, 3, (20_000, images))
    assert _excess(labels, 3).mean() == pytest.approx(0.0, abs=0.005)
    assert _excess(np.full((1, images), -1), 3).tolist() == [0.0]
