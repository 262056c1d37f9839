"""Fast version of languages.py: no language is judged wrongly more often than stated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from languages import IMAGES, LIMIT, WORLDS, judged, shares, told
from uncertainty import least


@pytest.mark.slow
@pytest.mark.parametrize("images", IMAGES)
@pytest.mark.parametrize("world", WORLDS)
def test_a_gap_of_the_limit_keeps_the_level(world, images):
    means = shares(world, LIMIT).mean(axis=1)
    assert means.max() - means.min() == pytest.approx(LIMIT)
    fails, passes = judged(world, LIMIT, images, 8)
    assert max(least(fails, 0.999), least(passes, 0.999)) <= 0.05


def test_clear_gaps_and_equal_languages_are_decided():
    assert sum(judged("one language", 0.4, 20, 2)[0]) == 2
    assert sum(judged("one language", 0.0, 20, 2)[1]) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "images"), [(0.15, 50), (0.25, 50), (0.3, 20)])
def test_a_plan_tells_the_power_that_was_delivered(gap, images):
    page = Path(__file__).with_name("languages.md").read_text("utf-8")
    row = re.search(rf"^\| {gap:g} \| {images} \| \S+ \| (\S+) ", page, re.MULTILINE)
    # Three standard deviations of both simulations.
    assert told(gap, images) == pytest.approx(float(row[1]), abs=0.12)
