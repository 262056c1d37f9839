"""docs/run-json.md says what run.json holds."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from pytest_t2i.audits.engine import counts as shared_blocks
from pytest_t2i.data import Bounds, Detection, Interval, Outcome, Row, Undetected
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.runs.record import record as records
from pytest_t2i.runs.record.images import ImageRecord
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.check import Check

DOCUMENT = (Path(__file__).parents[3] / "docs" / "run-json.md").read_text(encoding="utf-8")
PARTS = {
    "The run": (records.RunRecord,),
    "checks": (Check, Caveat),
    "rows": (Row, Interval),
    "blocks": (records.AuditRecord,),
    "images": (records.PromptRecord, ImageRecord),
}
"""Section of the page -> the records whose keys it has."""
WORDS = 1500


def of_section(section):
    return DOCUMENT.split(f"\n## {section}\n")[1].split("\n## ")[0]


def named(section):
    """First columns of the tables of a section."""
    rows = [line.split("|")[1] for line in of_section(section).splitlines() if line[:3] == "| `"]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_the_page_is_short():
    assert len(DOCUMENT.split()) <= WORDS


@pytest.mark.parametrize("section", PARTS)
def test_every_key_is_documented_and_nothing_else(section):
    keys = {field.name for kind in PARTS[section] for field in fields(kind)} - {"not_compared"}
    keys |= {"outcome"} if section == "The run" else set()
    told = set(re.findall(r"`(\w+)`", of_section(section)))
    assert named(section) <= keys, "nothing else"
    assert keys <= told


@pytest.mark.parametrize("kind", [Detection, Bounds])
def test_what_images_show_is_documented(kind):
    assert {field.name for field in fields(kind)} <= set(re.findall(r"`(\w+)`", DOCUMENT))


def test_words_are_documented():
    work = {field.name for field in fields(Work)}
    kinds = {field.name for field in fields(shared_blocks.Counts)}
    words = {*Outcome, *Undetected, *work, *kinds}
    assert {word for word in words if f"`{word}`" not in DOCUMENT} == set()
    assert f"`{records.SCHEMA}`" in DOCUMENT


def test_the_document_speaks_of_what_is_written(record):
    assert set(json.loads(record.to_json())) == named("The run")
