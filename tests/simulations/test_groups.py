"""Fast version of groups.py: corrected distances cover, and few runs are refused."""

from __future__ import annotations

import pytest
from groups import confusion, trial

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("number", "kind"), [(3, "even"), (4, "one at 0.6"), (5, "strong")])
def test_corrected_distances_cover(number, kind):
    found = trial(number, kind, 30, seed=100 + number)
    # Binomial(30, 0.95) is below 26 in one of 60 runs of a world.
    assert found.covered >= 26 / 30
    assert found.refused <= 0.1
    assert found.shares >= 0.9


def test_the_detector_alone_does_not():
    found = trial(3, "strong", 20, seed=1)
    assert found.uncorrected <= 0.5
    assert abs(found.error) <= 0.05


def test_the_planted_confusion_is_one():
    for number in (3, 4, 5):
        assert confusion(number).sum(axis=1) == pytest.approx([1.0] * number)
