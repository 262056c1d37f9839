"""docs/run-json.md says what run.json holds."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from pytest_t2i.audits import shared_blocks
from pytest_t2i.data import Bounds, Detection, Interval, Outcome, Row, Undetected
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.runs.record import record as records
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.check import Check

DOCUMENT = (Path(__file__).parents[3] / "docs" / "run-json.md").read_text(encoding="utf-8")
PARTS = {
    "The run": records.RunRecord,
    "Interval": Interval,
    "Bounds": Bounds,
    "Detection": Detection,
    "checks": Check,
    "prompts": records.PromptRecord,
    "rows": Row,
    "audits": records.AuditRecord,
}


def named(section):
    """First columns of the tables of a section."""
    text = DOCUMENT.split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


@pytest.mark.parametrize("section", PARTS)
def test_every_key_is_documented_and_nothing_else(section):
    keys = {field.name for field in fields(PARTS[section])}
    inner = {"prompts": records.ImageRecord, "checks": Caveat}
    extra = {field.name for field in fields(inner[section])} if section in inner else set()
    if section == "The run":
        extra = {"outcome"}
    assert named(section) == (keys | extra) - {"not_compared"}  # this is not written


def test_words_are_documented():
    work = {field.name for field in fields(Work)}
    kinds = {field.name for field in fields(shared_blocks.Counts)}
    words = {*Outcome, *Undetected, *work, *kinds}
    assert {word for word in words if f"`{word}`" not in DOCUMENT} == set()
    assert f"`{records.SCHEMA}`" in DOCUMENT


def test_the_document_speaks_of_what_is_written(record):
    assert set(json.loads(record.to_json())) == named("The run")
