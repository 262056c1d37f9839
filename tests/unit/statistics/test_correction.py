"""Counts of groups that carry the uncertainty of people's labels."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.statistics import corrected_scores
from pytest_t2i.statistics.correction import corrected_counts, corrected_shares
from pytest_t2i.statistics.deprecated import adjusted_model_bias_score

NAN = float("nan")


def drawn(seed, prompts=12, images=20, labels=8):
    """Words of a detector that calls a third of the second group the first, and people's labels."""
    rng = np.random.default_rng(seed)
    people = rng.integers(0, 2, (prompts, images))
    words = np.where((people == 1) & (rng.random(people.shape) < 1 / 3), 0, people)
    known = np.where(rng.random(people.shape).argsort(axis=1) < labels, people, NAN)
    return words, known


@pytest.mark.parametrize("seed", range(4))
def test_with_two_groups_they_are_the_counts_of_bias_scores(seed):
    words, known = drawn(seed)
    mine = corrected_counts(list(words), list(known), 2)
    # The first group stands for male: +1, the second for female: -1.
    theirs = corrected_scores(list(1.0 - 2 * words), list(1.0 - 2 * known), 0.95)
    scores = (mine.shares[:, 0] - mine.shares[:, 1]).tolist()
    # Powers are fitted for each group here and for signs there, the same of two groups.
    assert scores == pytest.approx([i.estimate for i in theirs.prompts], abs=0.02)
    sizes = np.add(theirs.effective_male, theirs.effective_female)
    assert np.abs(mine.counts.sum(axis=1) - sizes).max() <= 1
    assert mine.labels == theirs.labels


def test_where_all_is_labelled_they_are_people_s_own_counts():
    people = [[0, 0, 1, 2, 2, 2], [1, 1, 1, 1, 0, -1]]
    words = [[2, 2, 2, 0, 0, 0], [-1, -1, 0, 0, 0, 0]]
    found = corrected_counts(words, people, 3)
    assert found.counts.tolist() == [[2, 1, 3], [1, 4, 0]]
    assert found.labels == 12


def test_fewer_labels_leave_fewer_images():
    sizes = [
        int(corrected_counts(*map(list, drawn(0, labels=labels)), 2).counts.sum())
        for labels in (5, 8, 12, 20)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] == 12 * 20


def test_shares_are_a_distribution_and_counts_are_whole():
    words, known = drawn(1)
    found = corrected_counts(list(words), list(known), 4)
    assert found.shares.sum(axis=1) == pytest.approx(np.ones(12))
    assert found.shares.min() >= 0.0
    assert found.counts.min() >= 0


@pytest.mark.parametrize(
    ("words", "people", "message"),
    [
        ([], [], "words must hold at least one prompt"),
        ([[0, 1] * 3], [[0, 1, 0, 1, NAN, NAN]], "every prompt needs 5 labels, got 4 in labels"),
        ([[0, 2]], [[0, 1]], r"words\[0\] must hold -1 to 1"),
    ],
)
def test_what_is_none_is_refused(words, people, message):
    with pytest.raises(ValueError, match=message):
        corrected_counts(words, people, 2)


def test_all_labelled_is_the_truth_without_uncertainty():
    words = [[1, 1, 1, -1] * 2, [1, 0, 1, 1] * 2]
    people = [[1, -1, -1, -1] * 2, [1, 0, 1, 1] * 2]
    result = corrected_scores(words, people, 0.95)
    assert result.model.estimate == result.model.low == result.model.high == (0.5 + 1) / 2
    assert [prompt.estimate for prompt in result.prompts] == [-0.5, 1.0]
    assert result.labels_to_halve is None


def test_a_faultless_detector_needs_no_correction():
    words = [[1, 1, 1, -1, 0, 1] * 2, [-1, -1, -1, 1, 1, 0] * 2]
    people = [[1, 1, NAN, -1, 0, NAN] * 2, [-1, NAN, -1, 1, NAN, 0] * 2]
    result = corrected_scores(words, people, 0.95)
    assert result.model.estimate == pytest.approx(result.detector)


def test_labels_that_all_agree_leave_the_error_of_the_others():
    # The first prompt's labels agree with the detector, the second's in four of five.
    words = [[1.0, -1, 1, -1, 1] * 4] * 2
    people = [[*words[0][:10], *[NAN] * 10], [*words[0][:8], 1, -1, *[NAN] * 10]]
    sure, open_ = corrected_scores(words, people, 0.95).prompts
    assert 0.0 < sure.high - sure.estimate < open_.high - open_.estimate
    # The first has the pooled variance, near v / 2; the second v / 2 + 9 (v - v / 2) / (9 + 20).
    reaches = [prompt.high - prompt.estimate for prompt in (sure, open_)]
    assert (reaches[1] / reaches[0]) ** 2 == pytest.approx(1.0 + 9 / 29, rel=0.2)


def test_half_the_labels_more_than_double_what_is_asked_for_half_the_width():
    rng = np.random.default_rng(0)
    words = rng.choice([-1.0, 1.0], (20, 20))
    people = np.where(rng.random((20, 20)) < 0.25, words, NAN)
    people[:, :5] = words[:, :5]
    result = corrected_scores(list(words), list(people), 0.95)
    assert result.labels < result.labels + result.labels_to_halve < 400


@pytest.mark.parametrize(
    ("words", "people", "says"),
    [
        ([[1] * 6], [[1] * 4 + [NAN] * 2], r"needs 5 labels, got 4 in labels\[0\]"),
        ([[1, 2]], [[1, 1]], r"words\[0\]"),
        ([[1, 1]], [[1, 1, 1]], "same shape"),
        ([[0] * 5], [[1] * 5], "no clear image"),
        ([], [], "at least one prompt"),
    ],
)
def test_refusals(words, people, says):
    with pytest.raises(ValueError, match=says):
        corrected_scores(words, people, 0.95)


def test_rogan_gladen_takes_known_errors_off():
    # Sensitivity 0.9 and specificity 0.8, known from many labels: 0.9 p + 0.2 (1 - p) = 0.62.
    words = [[1.0] * 62 + [-1.0] * 38]
    people = [[NAN] * 100]
    known = [1.0] * 900 + [-1.0] * 100 + [-1.0] * 800 + [1.0] * 200
    truth = [1.0] * 1000 + [-1.0] * 1000
    result = adjusted_model_bias_score([*words, known], [*people, truth], level=0.95, seed=0)
    assert result.low < (abs(2 * 0.6 - 1) + 0.0) / 2 < result.high
    assert result.estimate == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize(
    ("words", "people", "says"),
    [
        ([[1, 1]], [[1, 1]], "one gender"),
        ([[-1, 1]], [[1, -1]], "no better than chance"),
    ],
)
def test_rogan_gladen_refuses(words, people, says):
    with pytest.raises(ValueError, match=says):
        adjusted_model_bias_score(words, people, level=0.95, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("detector", ["clip-enhance", "clip"])
def test_coverage_with_ten_labels_a_prompt(detector):
    """The fast version of tests/simulations/correction.py."""
    from correction import trial

    result = trial("sdxl", detector, labels=10, repeats=60, seed=3)
    assert abs(result["corrected"]) < abs(result["detector"])
    assert result["covered"] >= 0.88
    assert result["absolute"] < 1.3


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
