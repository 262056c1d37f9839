"""Drawing with unequal probabilities: always as many, each as often as it should be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit

from pytest_t2i.statistics.active_correction import (
    Calibration,
    WeightedScore,
    _expected,
    _images,
    calibrated,
    choice_probabilities,
    doubts,
    draw_sample,
    likely_signs,
    weighted_score,
)


def test_what_is_doubtful_is_likelier_and_nothing_is_impossible():
    doubt = np.array([0.0, 0.1, 0.2, 0.4, 1.0] * 20)
    chances = choice_probabilities(doubt, 30)
    assert chances.sum() == pytest.approx(30.0)
    assert np.all(np.diff(chances[:5]) > 0.0)
    # A fifth of 30 spread over 100 images.
    assert chances.min() == pytest.approx(0.06)


def test_no_probability_exceeds_one_and_the_rest_is_spread():
    chances = choice_probabilities([100.0, 1.0, 1.0, 1.0], 2)
    assert chances == pytest.approx([1.0, 1 / 3, 1 / 3, 1 / 3])
    assert choice_probabilities([0.3, 0.0, 0.0], 3) == pytest.approx([1.0, 1.0, 1.0])


def test_without_any_doubt_all_are_alike():
    assert choice_probabilities(np.zeros(10), 4) == pytest.approx(np.full(10, 0.4))


@pytest.mark.parametrize("count", [0, 5])
def test_a_number_outside_is_refused(count):
    with pytest.raises(ValueError, match=f"between 1 and 4, got count={count}"):
        choice_probabilities(np.ones(4), count)


def test_each_is_drawn_as_often_as_said_and_always_as_many():
    chances = np.array([1.0, 0.9, 0.7, 0.5, 0.3, 0.3, 0.2, 0.1])
    taken = np.zeros(8)
    for seed in range(3000):
        places = draw_sample(chances, seed)
        assert len(places) == 4
        taken[places] += 1
    # Five standard errors.
    assert np.all(np.abs(taken / 3000 - chances) <= 5 * np.sqrt(chances * (1 - chances) / 3000))


def test_one_seed_draws_the_same_and_another_others():
    chances = np.full(50, 0.4)
    assert draw_sample(chances, 3).tolist() == draw_sample(chances, 3).tolist()
    assert draw_sample(chances, 3).tolist() != draw_sample(chances, 4).tolist()


def test_no_whole_number_is_refused():
    with pytest.raises(ValueError, match=r"whole number, got 1\.2"):
        draw_sample([0.6, 0.6], 0)


def test_what_has_no_chance_is_never_drawn():
    for seed in range(20):
        assert draw_sample([0.0, 0.0, 1.0, 0.0, 0.0], seed).tolist() == [2]


def test_a_lone_word_against_all_others_is_likely_wrong():
    [signs] = likely_signs([np.array([1.7] * 19 + [-1.7])], Calibration())
    assert signs[0] > 0.98
    assert 0.0 < signs[-1] < 0.9


def test_among_as_many_of_both_the_word_counts_as_it_is():
    [signs] = likely_signs([np.array([2.0, -2.0] * 10)], Calibration())
    assert signs[0] == pytest.approx(np.tanh(1.0), abs=1e-6)
    assert signs[1] == pytest.approx(-np.tanh(1.0), abs=1e-6)


def test_a_calibration_is_read_into_the_odds():
    [plain] = likely_signs([np.array([1.0, -1.0] * 10)], Calibration())
    [steep] = likely_signs([np.array([1.0, -1.0] * 10)], Calibration(0.0, 2.0))
    [shifted] = likely_signs([np.array([1.0, -1.0] * 10)], Calibration(-1.0, 1.0))
    assert steep[0] > plain[0]
    assert shifted.mean() < plain.mean() - 0.2


def test_doubt_is_largest_where_the_word_stands_alone():
    [of] = doubts([np.array([1.7] * 18 + [-1.7, np.nan])])
    assert of.argmax() == 18
    [even] = doubts([np.array([1.7, -1.7, np.nan] * 6)])
    assert even[0] == pytest.approx(even[1])
    # Without a word: sqrt((1 - 0) / 2) in an even prompt.
    assert even[2] == pytest.approx(np.sqrt(0.5), abs=1e-6)


@pytest.mark.parametrize(("male", "female"), [(0.85, 0.85), (0.95, 0.75)])
def test_labels_say_how_often_words_are_right(male, female):
    rng = np.random.default_rng(1)
    signs = np.where(rng.random(20000) < 0.7, 1.0, -1.0)
    right = rng.random(20000) < np.where(signs > 0, male, female)
    words = np.where(right, signs, -signs)
    found = calibrated(1.5 * words, signs, np.ones(20000))
    assert found.shift + 1.5 * found.slope == pytest.approx(
        logit(male / (male + 1 - female)), abs=0.15
    )
    assert found.shift - 1.5 * found.slope == pytest.approx(
        logit((1 - male) / (1 - male + female)), abs=0.15
    )


def test_weights_undo_an_uneven_choice():
    rng = np.random.default_rng(2)
    signs = np.where(rng.random(40000) < 0.5, 1.0, -1.0)
    odds = signs * 2.0 + 2.0 * rng.standard_normal(40000)
    chances = np.where(np.abs(odds) < 1.0, 0.9, 0.1)
    kept = rng.random(40000) < chances
    everything = calibrated(odds, signs, np.ones(40000))
    drawn = calibrated(odds[kept], signs[kept], 1.0 / chances[kept])
    assert drawn.slope == pytest.approx(everything.slope, abs=0.08)
    assert drawn.shift == pytest.approx(everything.shift, abs=0.08)


def test_without_labels_words_are_taken_as_they_are():
    assert calibrated(np.array([]), np.array([]), np.array([])) == (0.0, 1.0)


NAN = float("nan")


def world(seed, share=0.8, prompts=40, images=20, accuracy=0.85):
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random((prompts, images)) < share, 1.0, -1.0)
    right = rng.random(signs.shape) < accuracy
    return signs, 1.7346 * np.where(right, signs, -signs)


def labelled(signs, chances, seed=0):
    said = np.full(signs.size, NAN)
    places = draw_sample(chances.ravel(), seed)
    said[places] = signs.ravel()[places]
    return said.reshape(signs.shape)


def test_all_labelled_is_the_truth_without_uncertainty():
    signs, odds = world(0, prompts=5)
    score = weighted_score(odds, signs, np.ones(signs.shape))
    given = score.interval(0.95)
    truth = float(np.mean(np.abs(signs.mean(axis=1))))
    assert (given.low, given.estimate, given.high) == pytest.approx((truth,) * 3, abs=1e-5)
    assert score.labels == 100


def test_low_quality_images_leave_the_score():
    signs, odds = world(0, prompts=5)
    signs[:, :4] = 0.0
    given = weighted_score(odds, signs, np.ones(signs.shape)).interval(0.95)
    truth = float(np.mean(np.abs(signs[:, 4:].mean(axis=1))))
    assert given.estimate == pytest.approx(truth, abs=1e-4)


def test_a_mistaken_detector_is_corrected_upwards_and_downwards():
    """It says male of all; people say so of 0.65, and of all."""
    for share, near in ((0.65, 0.3), (1.0, 1.0)):
        signs, _ = world(1, share)
        odds = np.full(signs.shape, 1.7346)
        chances = np.full(signs.shape, 200 / signs.size)
        given = weighted_score(odds, labelled(signs, chances), chances).interval(0.95)
        assert given.low <= near <= given.high
        assert abs(given.estimate - near) < 0.2


def test_the_weights_are_used():
    """Doubtful images are drawn more often; without weights they would count for more."""
    rng = np.random.default_rng(3)
    signs = np.where(rng.random((100, 20)) < 0.9, 1.0, -1.0)
    hard = rng.random(signs.shape) < 0.3
    odds = np.where(hard, 0.0, 4.0 * signs)
    # In doubt it is a woman, more often than elsewhere.
    signs = np.where(hard & (rng.random(signs.shape) < 0.5), -1.0, signs)
    chances = np.where(hard, 0.25, 0.02)
    chances *= 200 / chances.sum()
    said = [labelled(signs, chances, seed) for seed in range(20)]
    truth = float(np.mean(np.abs(signs.mean(axis=1))))
    weighted = [weighted_score(odds, one, chances).least for one in said]
    alike = [weighted_score(odds, one, np.full(signs.shape, 0.1)).least for one in said]
    assert np.mean(weighted) == pytest.approx(truth, abs=0.03)
    assert abs(np.mean(alike) - truth) > abs(np.mean(weighted) - truth) + 0.02


def test_labels_in_doubtful_places_narrow_the_interval():
    rng = np.random.default_rng(4)
    signs = np.where(rng.random((100, 20)) < 0.85, 1.0, -1.0)
    hard = rng.random(signs.shape) < 0.3
    odds = np.where(hard, 0.2 * rng.standard_normal(signs.shape), 4.0 * signs)
    by_doubt = choice_probabilities(np.where(hard, 1.0, 0.1).ravel(), 100).reshape(signs.shape)
    evenly = np.full(signs.shape, 0.05)
    errors = [
        np.mean([weighted_score(odds, labelled(signs, p, s), p).error for s in range(5)])
        for p in (by_doubt, evenly)
    ]
    assert errors[0] < 0.9 * errors[1]


def test_more_labels_narrow_it():
    signs, odds = world(5)
    widths = []
    for count in (50, 200, 600):
        chances = np.full(signs.shape, count / signs.size)
        widths.append(weighted_score(odds, labelled(signs, chances), chances).error)
    assert widths[0] > 1.5 * widths[1]
    assert widths[1] > 1.5 * widths[2]


def test_a_fair_models_prompts_may_have_another_sign():
    """An open sign widens the interval upwards alone."""
    signs, odds = world(6, share=0.5)
    chances = np.full(signs.shape, 200 / signs.size)
    score = weighted_score(odds, labelled(signs, chances), chances)
    given = score.interval(0.95)
    assert score.turned > 0.01
    assert given.high - given.estimate < given.estimate - given.low
    assert given.estimate == pytest.approx(score.least + score.turned)


def test_counts_at_a_score_have_this_score():
    score = WeightedScore((0.5, -0.2, 0.1, 0.9), (40.0, 40.0, 40.0, 40.0), 0.4, 0.0, 0.0, 50)
    for wanted in (0.1, 0.425, 0.7):
        male, female = score.counts_at(wanted)
        assert np.all(male + female == 40)
        assert np.mean(np.abs(male - female)) / 40 == pytest.approx(wanted, abs=0.03)
    male, female = score.counts_at(0.425)
    assert (male - female > 0).tolist() == [True, False, True, True]
    male, female = score.counts_at(1.0)
    assert np.all(np.abs(male - female) == 40)
    assert score.counts_at(0.0)[0].tolist() == [20] * 4


@pytest.mark.parametrize(
    ("labels", "chance", "message"),
    [(29, 0.5, "at least 30 labels, got 29"), (40, 0.0, "probability above 0"), (40, 1.2, "1.2")],
)
def test_what_cannot_be_used_is_told(labels, chance, message):
    said = np.full(60, NAN)
    said[:labels] = 1.0
    with pytest.raises(ValueError, match=message):
        weighted_score([np.ones(60)], [said], [np.full(60, chance)])


def test_a_sure_detector_leaves_no_sign_open():
    signs, odds = world(5, share=0.6, prompts=20, accuracy=1.0)
    said = labelled(signs, np.full(signs.shape, 0.25))
    sure = weighted_score(5.0 * odds, said, np.full(signs.shape, 0.25))
    unsure = weighted_score(0.1 * odds, said, np.full(signs.shape, 0.25))
    assert sure.turned < 0.01 < unsure.turned


def test_images_are_as_likely_clear_as_labels_of_their_kind():
    # Of those with the detector's label all are clear, of those without two in four.
    odds = np.array([[2.0] * 30 + [NAN] * 10])
    said = np.array([[1.0] * 26 + [NAN] * 4 + [1.0, 1.0, 0.0, 0.0] + [NAN] * 6])
    given = _images(odds, said, np.full(odds.shape, 0.5))
    clear = _expected(given)[1]
    assert clear[:30] == pytest.approx(1.0)
    assert clear[30:] == pytest.approx((2 + 0.5) / (4 + 1))
