"""What runs write is what they wrote when the records were made (record.py)."""

from __future__ import annotations

import difflib

import pytest
from record import DATA, RECORDS

pytest.importorskip("pandas")
MOST = 40
"""Lines of a difference that a failure shows."""


@pytest.mark.parametrize("name", RECORDS)
def test_golden(name):
    before, now = (DATA / f"{name}.txt").read_text(), RECORDS[name]()
    if now != before:
        found = difflib.unified_diff(before.splitlines(), now.splitlines(), "before", "now", n=1)
        pytest.fail("\n".join(list(found)[:MOST]), pytrace=False)


def test_every_record_has_its_scenario():
    assert {file.stem for file in DATA.iterdir()} == set(RECORDS)
