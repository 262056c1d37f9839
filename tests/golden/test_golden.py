"""What runs write is what they wrote when the records were made (record.py)."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections import Counter

import pytest
from record import DATA, VERDICTS, record
from scenarios import SCENARIOS

pytest.importorskip("pandas")
NUMBER, CLOSE = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?"), 1e-8
BLANKS = re.compile(r"[\s,]*([\[\]{}])[\s,]*|[\s,]+")
MOST = 40
"""Lines of a difference that a failure shows."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_golden(name):
    compare(DATA, name, record(name)[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_verdicts(name):
    compare(VERDICTS, name, record(name)[1])


def compare(folder, name, now):
    before = (folder / f"{name}.txt").read_text()
    if not is_same(before, now):
        found = difflib.unified_diff(before.splitlines(), now.splitlines(), "before", "now", n=1)
        pytest.fail("\n".join(list(found)[:MOST]), pytrace=False)


def is_same(before, now):
    """Whether two texts are equal, but for blanks and for what depends on the machine."""
    if before == now:
        return True
    before, now = (BLANKS.sub(r"\1 ", text) for text in (before, now))
    pairs = zip(map(float, NUMBER.findall(before)), map(float, NUMBER.findall(now)), strict=False)
    return NUMBER.split(before) == NUMBER.split(now) and all(
        math.isclose(old, new, rel_tol=CLOSE, abs_tol=CLOSE) for old, new in pairs
    )


def test_the_machines_last_digits_alone_are_no_difference():
    assert is_same('"low": 0.1234567891', '"low": 0.1234567892')
    assert not is_same('"low": 0.1234567', '"low": 0.1234568')
    assert not is_same('"low": 0.5', '"high": 0.5')
    assert not is_same('"digest a1"', '"digest a2"')


@pytest.mark.parametrize("folder", [DATA, VERDICTS])
def test_every_record_has_its_scenario(folder):
    assert {file.stem for file in folder.iterdir()} == set(SCENARIOS)


def test_no_verdict_is_told_whose_interval_holds_the_limit():
    checks = [
        json.loads(line)
        for file in VERDICTS.iterdir()
        for line in file.read_text().splitlines()
        if line.startswith(" [")
    ]
    decided = Counter()
    for _, metric, subject, outcome, _, low, high, operator, bound, against in checks:
        if against != "limit" or outcome == "INCONCLUSIVE" or low is None:
            continue
        decided[outcome] += 1
        within, beyond = (high <= bound, low > bound)
        if operator.startswith(">"):
            within, beyond = low >= bound, high < bound
        told = f"{outcome} of {metric} of {subject}: [{low}, {high}] {operator} {bound}"
        assert within if outcome == "PASS" else beyond, told
    assert min(decided["PASS"], decided["FAIL"]) > 50
