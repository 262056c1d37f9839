"""The committed table of planted changes is that of the search as it is."""

from __future__ import annotations

import explain_cases
import explain_kills
import pytest


@pytest.mark.slow
def test_the_table_is_that_of_the_search():
    assert explain_cases.TABLE.read_text() == explain_cases.page()


@pytest.mark.slow
def test_killed_searches_end_with_the_same_answer(tmp_path):
    assert [each.is_same for each in explain_kills.go(tmp_path, 2, seed=1)] == [True, True]
