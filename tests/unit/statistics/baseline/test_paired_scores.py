"""The two scores behind a change of the model bias score."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.statistics import PairedScores, paired_model_bias_change, paired_model_bias_scores

BEFORE, AFTER = ([12, 15, 20, 3], [8, 5, 0, 7]), ([16, 10, 19, 1], [4, 10, 1, 9])


@pytest.mark.parametrize("estimator", ["corrected", "paper"])
def test_their_difference_is_the_change(estimator):
    scores = paired_model_bias_scores(*BEFORE, *AFTER, estimator=estimator)
    change = paired_model_bias_change(*BEFORE, *AFTER, level=0.95, seed=0, estimator=estimator)
    assert scores.after - scores.before == pytest.approx(change.estimate)


def test_the_papers_are_means_of_absolute_scores():
    scores = paired_model_bias_scores(*BEFORE, *AFTER, estimator="paper")
    for score, counts in zip(scores, (BEFORE, AFTER), strict=True):
        men, women = np.array(counts)
        assert score == pytest.approx(np.mean(np.abs(men - women) / (men + women)))


def test_a_score_stays_within_0_and_1():
    fair = [10] * 12
    scores = paired_model_bias_scores(fair, fair, [20] * 12, [0] * 12)
    assert scores.before >= 0.0
    assert scores.after <= 1.0
    assert isinstance(scores, PairedScores)


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="no prompt of 1 has two clear images"):
        paired_model_bias_scores([1], [0], [1], [0])
