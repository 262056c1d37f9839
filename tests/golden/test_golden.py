"""What runs write is what they wrote when the records were made (record.py)."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from comparing import difference, is_same
from record import DATA, VERDICTS, record
from scenarios import SCENARIOS

pytest.importorskip("pandas")


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_golden(name):
    compare(DATA, name, record(name)[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_verdicts(name):
    compare(VERDICTS, name, record(name)[1])


def compare(folder, name, now):
    if found := difference((folder / f"{name}.txt").read_text(), now):
        pytest.fail(found, pytrace=False)


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
        within, beyond = (high <= bound, round(low, 3) > bound)
        if operator.startswith(">"):
            within, beyond = low >= bound, round(high, 3) < bound
        told = f"{outcome} of {metric} of {subject}: [{low}, {high}] {operator} {bound}"
        assert within if outcome == "PASS" else beyond, told
    assert min(decided["PASS"], decided["FAIL"]) > 50
