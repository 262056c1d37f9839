"""What a certificate makes of a verdict is a range, or none."""

from __future__ import annotations

import pytest

from pytest_t2i.data import Outcome
from pytest_t2i.verdicts.certificate import CertifiedCase


@pytest.mark.parametrize(("low", "high"), [(0.6, 0.5), (1e9, 0.5), (None, 0.5), (0.5, None)])
def test_ends_that_are_no_range_are_refused(low, high):
    with pytest.raises(ValueError, match="expected"):
        CertifiedCase(low, high, Outcome.PASS, hangs=False, basis="")


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.6), (0.5, 0.5), (None, None)])
def test_a_range_or_none_is_said_in_words(low, high):
    words = CertifiedCase(low, high, Outcome.PASS, hangs=True, basis="all ages").words
    assert ("0.500" in words) == (low is not None)
    assert words.endswith("the verdict hangs on the detector")


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 0.9999), (0.0002, 1.0), (-0.5, 1.0)])
@pytest.mark.parametrize("hangs", [True, False])
def test_errors_that_allow_every_score_reassure_nobody(low, high, hangs):
    words = CertifiedCase(low, high, Outcome.INCONCLUSIVE, hangs=hangs, basis="all ages").words
    assert "nothing is known of its errors" in words
    assert "the verdict" not in words


def test_errors_that_leave_a_score_open_are_no_reassurance_but_a_range():
    words = CertifiedCase(0.01, 0.98, Outcome.INCONCLUSIVE, hangs=False, basis="all ages").words
    assert words.endswith("0.010 to 0.980: the verdict holds")
