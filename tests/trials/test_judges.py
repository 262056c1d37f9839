"""The trial of judges at a small size."""

from __future__ import annotations

import judges
import pytest
from tally import Tally

pytestmark = pytest.mark.slow


def test_kills_while_judging(tmp_path):
    tally = judges.kills(tmp_path, 3, Tally("kills", judges.WANTED), seed=2)
    assert tally.faults == []
    assert tally.kinds["kills"] == 3


def test_versions_that_change_while_judging(tmp_path):
    tally = judges.versions(tmp_path, 1, Tally("versions", judges.WANTED), seed=2)
    assert tally.faults == []


def test_hostile_answers():
    tally = judges.hostile(24, Tally("hostile", judges.WANTED), seed=2)
    assert tally.faults == []
