"""The committed table of planted changes is that of the search as it is."""

from __future__ import annotations

import cases
import pytest


@pytest.mark.slow
def test_the_table_is_that_of_the_search():
    assert cases.TABLE.read_text() == cases.page()
