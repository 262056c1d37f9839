"""A score corrected by labels with probabilities: against ppi-python, and what must hold."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.statistics.correction.choice import choice_probabilities, drawn
from pytest_t2i.statistics.correction.weighted import (
    WeightedScore,
    _expected,
    _images,
    weighted_score,
)

NAN = float("nan")


def world(seed, share=0.8, prompts=40, images=20, accuracy=0.85):
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random((prompts, images)) < share, 1.0, -1.0)
    right = rng.random(signs.shape) < accuracy
    return signs, 1.7346 * np.where(right, signs, -signs)


def labelled(signs, chances, seed=0):
    said = np.full(signs.size, NAN)
    places = drawn(chances.ravel(), seed)
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
