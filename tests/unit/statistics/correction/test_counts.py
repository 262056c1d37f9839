"""Counts of groups that carry the uncertainty of people's labels."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.statistics import corrected_scores
from pytest_t2i.statistics.correction.shares import corrected_counts

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
