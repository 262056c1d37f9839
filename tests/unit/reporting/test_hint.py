"""The advice after a worse run names one command, and what installs it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_t2i.adapters import registry
from pytest_t2i.data import Outcome
from pytest_t2i.reporting import hint
from pytest_t2i.runs.record.record import BaselineRecord
from pytest_t2i.runs.record.sections_files import sections_file


@pytest.fixture
def worse(record):
    baseline = BaselineRecord("b.json", "sdxl", "0123", "", 30, 0, False)
    checks = (replace(record.checks[0], outcome=Outcome.FAIL), *record.checks[1:])
    return replace(record, checks=checks, baseline=baseline)


@pytest.mark.parametrize(("installed", "begins"), [
    ({"explain": None}, "`t2i explain reports/t2i/run.json --baseline "),
    ({}, "after `pip install pytest-t2i-explain`, `t2i explain "),
])  # fmt: skip
def test_a_worse_run_names_the_command(worse, monkeypatch, installed, begins):
    monkeypatch.setattr(registry, "_installed", lambda group: installed)
    assert hint.hint(worse).startswith(begins)


def test_an_answer_beside_the_run_needs_no_advice(worse):
    assert hint.hint(worse, [sections_file(worse, "why", [])])
    assert hint.hint(worse, [sections_file(worse, "explain", [])]) == ""


def test_a_run_without_a_baseline_has_none(worse):
    assert hint.hint(replace(worse, baseline=None)) == ""
