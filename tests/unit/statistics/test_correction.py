"""Scores that people's labels correct, with the uncertainty of the labels."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.statistics import corrected_scores, prompt_bias_interval

NAN = float("nan")


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


def test_a_prompt_has_the_exact_interval_of_its_labels():
    # The first prompt's labels agree with the detector, the second's in four of five.
    words = [[1.0, -1, 1, -1, 1] * 4] * 2
    people = [[*words[0][:10], *[NAN] * 10], [*words[0][:8], 1, -1, *[NAN] * 10]]
    prompts = corrected_scores(words, people, 0.95).prompts
    exact = prompt_bias_interval(6, 4, 0.95)
    for prompt in prompts:
        assert (prompt.low, prompt.high, prompt.n) == (exact.low, exact.high, 10)
    nothing = [[0.0] * 5 + [NAN] * 5]
    (prompt,) = corrected_scores([[1.0, -1] * 5], nothing, 0.95).prompts
    assert (prompt.low, prompt.high, prompt.n) == (-1.0, 1.0, 0)


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


@pytest.mark.slow
@pytest.mark.parametrize("detector", ["clip-enhance", "clip"])
def test_coverage_with_ten_labels_a_prompt(detector):
    """The fast version of tests/simulations/correction.py."""
    from correction import trial

    result = trial("sdxl", detector, labels=10, repeats=60, seed=3)
    assert abs(result["corrected"]) < abs(result["detector"])
    assert result["covered"] >= 0.88
    assert result["absolute"] < 1.3


def test_evidence_about_a_prompt_is_peoples_labels_alone():
    one = [1.0] * 75 + [-1.0] * 25
    people = [1.0, -1, -1, 0, -1, 1] + [float("nan")] * 69 + [-1.0, -1] + [float("nan")] * 23
    ten = [*people[:6], 1.0, 1.0, *people[8:]]
    found = corrected_scores([one] * 3, [people] * 3, 0.9)
    assert found.effective_male == found.pooled_male == (2, 2, 2)
    assert found.effective_female == found.pooled_female == (5, 5, 5)
    many = corrected_scores([one] * 12, [people] * 12, 0.9)
    assert many.effective_male == (2,) * 12
    assert many.pooled_male == (2,) * 12  # eight labels are too few
    many = corrected_scores([one] * 12, [ten] * 12, 0.9)
    assert sum(many.pooled_male) + sum(many.pooled_female) > 12 * 9


def test_a_prompt_on_which_all_agree_has_the_score_of_the_detector():
    right = [1.0] * 14 + [-1.0] * 6
    people = [1.0] * 6 + [float("nan")] * 13 + [-1.0]
    wrong = [-1.0, 1, 1, 1, 1, -1] + [float("nan")] * 13 + [1.0]
    found = corrected_scores([right] * 3, [people, wrong, wrong], 0.9)
    assert found.prompts[0].estimate == pytest.approx(0.4)


def test_labels_of_one_side_alone_correct_nothing():
    rng, unknown = np.random.default_rng(0), float("nan")
    words = [np.where(rng.random(40) < 0.5, 1.0, -1.0) for _ in range(4)]
    at_random = [np.where(np.arange(40) < 10, w, unknown) for w in words]
    men = [np.where((w > 0) & (np.cumsum(w > 0) <= 10), w, unknown) for w in words]
    assert corrected_scores(words, at_random, 0.9).labels == 40
    with pytest.raises(ValueError, match="labels must be of a random part"):
        corrected_scores(words, men, 0.9)
