"""run.json is read as the record that it was written from."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from filled import filled

from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.shared_blocks import Counts
from pytest_t2i.data import Detection
from pytest_t2i.errors import FileFormatError
from pytest_t2i.runs.read_run import read_run
from pytest_t2i.runs.record import SCHEMA, ImageRecord, PromptRecord, RunRecord


def test_the_deciding_detector_is_the_first_again(tmp_path):
    """The file sorts its keys, and readers take the first detector for the one that decides."""
    record = RunRecord(
        "2026-11-27T10:00:00+00:00", 1.0, "mine", {"detectors": ["young", "aged", "third"]}, {}, {},
        prompts=(
            PromptRecord(
                "p", "a nurse", "job", "nurse", "neutral",
                {name: Counts({"male": 1}, {}) for name in ("young", "aged", "third")}, None,
                (ImageRecord(0, None, {n: Detection("male") for n in ("young", "aged", "third")}),),
            ),
        ),
    )  # fmt: skip
    (tmp_path / "run.json").write_text(record.to_json())
    (prompt,) = read_run(tmp_path / "run.json").prompts
    assert list(prompt.counts) == ["young", "aged", "third"]
    assert list(prompt.images[0].detections) == ["young", "aged", "third"]


def test_records_of_audits_go_through_the_file(tmp_path):
    run = filled(RunRecord)
    own = [
        audit for audit in installed_audits() if type(audit).__module__.startswith("pytest_t2i.")
    ]
    built_in = {audit.name for audit in own if audit.record_type is not None}
    assert set(run.audits) == built_in
    file = tmp_path / "run.json"
    file.write_text(run.to_json())
    assert read_run(file) == replace(run, not_compared=0), "it is said where a run ends"


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"version": -1, "record": {}}, "expected a whole number >= 0"),
        ({"version": 2, "record": {}}, "expected version 1 of the record, got 2"),
        (
            {"version": 1, "record": {"variety": 3}},
            "audits.variety: expected a list, got variety=3",
        ),
        ({"version": 1, "record": []}, "audits.variety: expected"),
    ],
)
def test_a_bad_part_is_named(tmp_path, part, told):
    run = RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {})
    plain = json.loads(run.to_json()) | {"audits": {"variety": part}}
    file = tmp_path / "run.json"
    file.write_text(json.dumps(plain))
    with pytest.raises(FileFormatError, match=told):
        read_run(file)


def test_another_schema_is_refused(tmp_path):
    file = tmp_path / "run.json"
    file.write_text('{"schema": "pytest-t2i/run/99"}')
    with pytest.raises(
        FileFormatError, match=f"expected schema '{SCHEMA}', got 'pytest-t2i/run/99'"
    ):
        read_run(file)
