"""run.json is read as the record that it was written from."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from filled import ROWS, filled
from gap_rows import gap_row

from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.engine.counts import Counts
from pytest_t2i.cli.main import main
from pytest_t2i.data import Detection, Interval, Outcome, Row
from pytest_t2i.errors import FileFormatError
from pytest_t2i.reporting.exports.cards import section
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.images import ImageRecord
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.runs.record.record import SCHEMA, AuditRecord, PromptRecord, RunRecord
from pytest_t2i.runs.record.summaries import series_of_audits
from pytest_t2i.sections import RowChart, Section
from pytest_t2i.verdicts.check import Check


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
    record.write(tmp_path / "run.json")
    (prompt,) = read_run(tmp_path / "run.json").prompts
    assert list(prompt.counts) == ["young", "aged", "third"]
    assert list(prompt.images[0].detections) == ["young", "aged", "third"]


def test_records_of_audits_go_through_the_file(tmp_path):
    run = filled(RunRecord)
    own = [
        audit for audit in installed_audits() if type(audit).__module__.startswith("pytest_t2i.")
    ]
    built_in = {audit.name for audit in own if audit.name in ROWS}
    assert set(run.audits) == built_in
    file = tmp_path / "run.json"
    run.write(file)
    assert read_run(file) == replace(run, not_compared=0), "it is said where a run ends"


@pytest.mark.parametrize(
    ("name", "part", "told"),
    [
        ("variety", {"place": "high"}, "expected a whole number"),
        ("variety", {"rows": 3}, "expected a list, got audits.variety.rows=3"),
        ("variety", [], "expected"),
    ],
)
def test_a_bad_part_is_named(tmp_path, name, part, told):
    run = RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {})
    plain = json.loads(run.to_json()) | {"audits": {name: part}}
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


def checked(outcome, low, high, *, operator="<=", against="limit"):
    middle = (low + high) / 2
    return Check(
        "t.py::t", "model_bias_score", "model", Outcome(outcome), middle, low, high, 0.9, "m", 9,
        operator, 0.5, against=against, is_of_model=True,
    )  # fmt: skip


def changed(tmp_path, check, **keys):
    """A file whose checks or outcome were written anew by hand."""
    run = RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {}, checks=(check,))
    file = tmp_path / "run.json"
    file.write_text(json.dumps(json.loads(run.to_json()) | keys))
    return file


@pytest.mark.parametrize("written", ["PASS", "INCONCLUSIVE", "", None])
def test_an_outcome_that_the_checks_do_not_give_is_refused(tmp_path, written):
    """Reports went on with what was left of the run, and said nothing."""
    file = changed(tmp_path, checked("FAIL", 0.6, 0.9), outcome=written)
    with pytest.raises(FileFormatError, match="outcome: expected FAIL, which its checks give, got"):
        read_run(file)
    for command in (["report", str(file), str(tmp_path / "r")], ["compare", str(file), str(file)]):
        assert main(command) == 2


@pytest.mark.parametrize(
    ("low", "high", "operator", "right"),
    [
        (0.6, 0.9, "<=", {"FAIL", "INCONCLUSIVE"}),
        (0.1, 0.4, "<=", {"PASS", "INCONCLUSIVE"}),
        (0.1, 0.5, "<", {"PASS", "INCONCLUSIVE"}),
        (0.4, 0.6, "<=", {"INCONCLUSIVE"}),
        (0.6, 0.9, ">=", {"PASS", "INCONCLUSIVE"}),
        (0.1, 0.4, ">=", {"FAIL", "INCONCLUSIVE"}),
        (0.4, 0.6, ">", {"INCONCLUSIVE"}),
    ],
)
@pytest.mark.parametrize("outcome", ["PASS", "FAIL", "INCONCLUSIVE"])
def test_a_check_whose_interval_says_otherwise_is_refused(
    tmp_path, low, high, operator, right, outcome
):
    file = changed(tmp_path, checked(outcome, low, high, operator=operator))
    if outcome in right:
        assert read_run(file).checks[0].outcome == outcome
    else:
        with pytest.raises(FileFormatError, match=r"checks\.0: expected the outcome that .* has"):
            read_run(file)


def test_a_change_may_rest_on_another_test_than_its_interval(tmp_path):
    check = checked("FAIL", -0.1, 0.9, against="baseline")
    assert read_run(changed(tmp_path, check)).outcome is Outcome.FAIL


def test_a_verdict_without_evidence_is_refused(tmp_path):
    bare = replace(
        checked("PASS", 0.1, 0.4), estimate=None, low=None, high=None, level=None, method="", n=0
    )
    with pytest.raises(FileFormatError, match="the outcome that no evidence has"):
        read_run(changed(tmp_path, bare))


def test_a_record_of_an_audit_that_is_gone_is_shown(tmp_path, monkeypatch):
    gap = gap_row("image", Interval(0.02, 0.01, 0.03, 0.9, "student", 3), (0.9, 0.92), 3)
    audits = {"neutrality": AuditRecord(rows=(gap,))}
    run = RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {}, audits=audits)
    file = tmp_path / "run.json"
    with_blocks(run).write(file)
    assert main(["report", str(file), str(tmp_path / "page")]) == 0
    assert "Similarity gaps" in (tmp_path / "page/index.html").read_text()
    assert "0.020" in (tmp_path / "page/summary.md").read_text()


def test_a_row_of_an_unknown_metric_is_shown_with_its_name(tmp_path):
    """Nobody declares the metric, and no installed audit has the name of its record."""
    value = Interval(0.25, 0.125, 0.5, 0.9, "exact", 8)
    rows = (Row("loudness", "model", "model", value),)
    blocks = (Section("Sounds", (RowChart("", ("loudness",)),)),)
    audits = {"gone": AuditRecord(rows, blocks, first=0)}
    run = RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {}, audits=audits)
    file = tmp_path / "run.json"
    run.write(file)
    assert main(["report", str(file), str(tmp_path / "page")]) == 0
    page = (tmp_path / "page/index.html").read_text()
    assert "Loudness" in page, "a figure of the first screen"
    assert "| loudness |" in (tmp_path / "page/summary.md").read_text()
    again = read_run(file)
    assert again.to_frame("gone")["metric"].tolist() == ["loudness"]
    assert "loudness" in section(again), "a value of the card"
    assert series_of_audits(again) == {"loudness/model": value}


def test_blocks_of_a_stranger_are_checked(tmp_path):
    audits = {"mine": AuditRecord()}
    run = RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {}, audits=audits)
    plain = json.loads(run.to_json())
    plain["audits"]["mine"]["blocks"] = [
        {"is": "Section", "title": "a", "blocks": [{"is": "Film"}]}
    ]
    file = tmp_path / "run.json"
    file.write_text(json.dumps(plain))
    with pytest.raises(FileFormatError, match=r"audits\.mine\.blocks: expected .*, got 'Film'"):
        read_run(file)
