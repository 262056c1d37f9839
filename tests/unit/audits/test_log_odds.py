"""How sure a detector is, from what it tells."""

from __future__ import annotations

import math

import pytest

from pytest_t2i.audits.log_odds import log_odds
from pytest_t2i.data import Detection, Undetected


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"male": 0.2, "female": 0.21, "p(male)": 0.8, "p(female)": 0.2}, math.log(4.0)),
        ({"male": 0.8, "female": 0.2}, math.log(4.0)),
        # Cosine similarities are no probabilities, and neither is one of the two alone.
        ({"male": 0.3, "female": 0.2}, math.log(0.85 / 0.15)),
        ({"male": 0.9}, math.log(0.85 / 0.15)),
        ({}, math.log(0.85 / 0.15)),
        # Nobody is quite sure.
        ({"male": 1.0, "female": 0.0}, math.log(99.0)),
    ],
)
def test_probabilities_are_taken_where_there_are_any(scores, expected):
    assert log_odds(Detection("male", scores=scores)) == pytest.approx(expected)


def test_a_word_without_probabilities_has_its_sign():
    assert log_odds(Detection("female")) == -log_odds(Detection("male"))


def test_without_a_label_nothing_is_known():
    assert math.isnan(log_odds(Detection(None, Undetected.NO_FACE, {"male": 0.5, "female": 0.5})))
    assert math.isnan(log_odds(Detection("child")))
