"""Shares of groups corrected by labels: right of every kind of error, and honest intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_t2i.statistics import corrected_shares

NAN = math.nan


def world(seed, prompts=20, images=20, labelled=8):
    """A detector that takes a third of group 1 for group 0, and loses a fifth of group 2."""
    rng = np.random.default_rng(seed)
    words, labels, truth = [], [], []
    for _ in range(prompts):
        share = rng.dirichlet([4, 3, 3])
        people = rng.choice([0, 1, 2, -1], size=images, p=[*(0.9 * share), 0.1])
        word = people.copy()
        word[(people == 1) & (rng.random(images) < 1 / 3)] = 0
        word[(people == 2) & (rng.random(images) < 1 / 5)] = -1
        few = people.astype(float)
        few[rng.permutation(images)[labelled:]] = NAN
        truth.append(people)
        words.append(word)
        labels.append(few)
    clear = np.concatenate(truth)
    clear = clear[clear >= 0]
    return words, labels, np.array([np.mean(clear == group) for group in range(3)])


def test_with_every_label_it_is_what_people_say():
    words, labels, truth = world(0, labelled=20)
    result = corrected_shares(words, labels, 3, 0.95)
    assert [share.estimate for share in result.shares] == pytest.approx(list(truth))
    assert all(share.high - share.low < 1e-9 for share in result.shares)


def test_a_right_detector_is_left_as_it_is():
    words, labels, _ = world(1)
    pairs = zip(words, labels, strict=True)
    right = [np.where(np.isnan(label), word, label) for word, label in pairs]
    result = corrected_shares(right, labels, 3, 0.95)
    assert [share.estimate for share in result.shares] == pytest.approx(result.detector, abs=0.02)


@pytest.mark.slow
def test_intervals_cover_and_the_detectors_word_does_not():
    covered, detector = np.zeros(3), np.zeros(3)
    runs = 200
    for seed in range(runs):
        words, labels, truth = world(seed)
        result = corrected_shares(words, labels, 3, 0.95)
        covered += [s.low <= t <= s.high for s, t in zip(result.shares, truth, strict=True)]
        detector += np.array(result.detector) - truth
    assert np.all(covered / runs >= 0.90), covered / runs
    assert detector[0] / runs > 0.05


@pytest.mark.parametrize(
    ("words", "labels", "says"),
    [
        ([], [], "at least one prompt"),
        ([[0, 1] * 3], [[0, 1, 0, 1, NAN, NAN]], "needs 5 labels, got 4"),
        ([[0, 3]], [[0, 1]], r"words\[0\] must hold -1 to 2"),
        ([[0, 1]], [[0, 1.5]], r"labels\[0\] must hold"),
        ([[0, 1]], [[0, 1, 1]], "shape"),
    ],
)
def test_what_cannot_be_used_is_told(words, labels, says):
    with pytest.raises(ValueError, match=says):
        corrected_shares(words, labels, 3, 0.95)
