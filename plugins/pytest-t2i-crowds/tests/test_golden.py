"""What runs write is what they wrote when the records were made (golden_crowd.py)."""

from __future__ import annotations

import pytest
from comparing import difference
from golden_crowd import FILES, recorded

pytest.importorskip("pandas")


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(FILES)), ids=[file.stem for file in FILES])
def test_runs_write_what_they_wrote(place):
    assert difference(FILES[place].read_text(), recorded()[place]) == ""
