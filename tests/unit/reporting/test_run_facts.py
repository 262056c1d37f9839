"""The first screen says who set the limits, what labels did, and which version measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.data import Interval, Row
from pytest_t2i.reporting.run_facts import (
    CORRECT_NONE,
    NO_LABELS,
    commit,
    facts,
    facts_table,
    label_status,
    tool_version,
    who_set_limits,
)
from pytest_t2i.runs.record.record import AuditRecord

SCORE = Interval(0.4, 0.3, 0.5, 0.95, "test", 30)
CORRECTION = Row(
    "corrected_model_bias_score", "colour", "detector", SCORE, {},
    {"labelled": "labels", "by_detector": 0.5, "labels_to_halve": None},
    {"labels": 30, "left_out": 0, "annotators": 2},
)  # fmt: skip
TRIED = Rows((
    Row("accuracy", "colour", "detector", None, {"label": "male"}, counts={"labels": 200}),
))  # fmt: skip


@pytest.mark.parametrize(
    ("audits", "labels", "told"),
    [
        ({}, None, NO_LABELS),
        ({}, "labels", CORRECT_NONE),
        ({"parity": Rows((CORRECTION,))}, "labels",
         "corrected by 30 labels of 2 annotators"),
        ({"detector_validation": TRIED}, "labels",
         "detectors were tried on 200 labelled images"),
    ],
)  # fmt: skip
def test_what_labels_did(record, audits, labels, told):
    parts = {name: AuditRecord(rows=part.rows) for name, part in audits.items()}
    run = replace(record, audits=parts, settings={**record.settings, "labels": labels})
    assert label_status(run) == told
    assert ("Labels", told) in facts(run)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ([], ""),
        ([("", "")], "no name given; 1 of 1 without a reason"),
        ([("B. Boss", "agreed")], "B. Boss"),
        ([("B. Boss", "agreed"), ("", "so")], "B. Boss; 1 of 2 without an author"),
        ([("B. Boss", ""), ("A. Able", "so")], "B. Boss, A. Able; 1 of 2 without a reason"),
    ],
)
def test_who_set_the_limits(record, said, told):
    check = record.checks[0]
    checks = tuple(
        replace(check, bound=0.1 * place, author=author, reason=reason, subject=f"s{again}")
        for place, (author, reason) in enumerate(said)
        for again in range(2)  # a limit counts once, however many are judged by it
    )
    run = replace(record, checks=checks)
    assert who_set_limits(run) == told
    assert dict(facts(run)).get("Limits set by", "") == told


def test_which_version_measured_from_which_commit(record):
    facts_of = {"environment": {"pytest-t2i": "1.2"}, "project": {"commit": "c0ffee"}}
    run = replace(record, provenance=facts_of)
    assert (tool_version(run), commit(run)) == ("1.2", "c0ffee")
    assert ("Measured by", "pytest-t2i 1.2") in facts(run)
    facts_of["project"]["changed"] = True
    assert commit(run) == "c0ffee, with changes that are not committed"
    assert (tool_version(replace(run, provenance={})), commit(replace(run, provenance={}))) == (
        "", "",
    )  # fmt: skip


def with_facts(record, **facts):
    return replace(record, provenance={**record.provenance, **facts})


def test_what_an_auditor_asks_has_its_row(record):
    bare = dict(facts(replace(record, provenance={})))
    assert bare["Commit of the project"].startswith("not known: the run began in no folder")
    assert bare["Detector by group"].startswith("by age, skin tone and the like never measured")
    assert "seeds that were fixed before" in bare["Choice of pictures"]
    assert "Labelled by" not in bare
    read = replace(record, work={**record.work, "is_ready_made": True})
    assert "whoever filled the folder chose them" in dict(facts(read))["Choice of pictures"]


def test_who_labelled_and_when(record):
    labels = {"annotators": {"ada": 30, "ben": 28}, "written": "2026-11-20T17:07:00+00:00"}
    rows = dict(facts(with_facts(record, **{"people's labels": labels})))
    assert rows["Labelled by"] == "ada (30), ben (28); last changed 2026-11-20 17:07 UTC"


def certified(groups):
    return {
        "detector": "d", "date": "2026-11-20", "images": 496, "right by group": {"age": groups},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (
            {"0 to 30": "61 of 72", "30 up": "226 of 242"},
            "age: lowest for 0 to 30 (61 of 72 right)",
        ),
        ({"0 to 30": "0 of 0"}, "age: lowest for no group, as none has a label"),
        ({"0 to 30": "many", "30 up": 7}, "age: lowest for no group, as none has a label"),
    ],
)
def test_the_groups_of_a_certificate(record, groups, words):
    rows = dict(facts(with_facts(record, certificate=certified(groups))))
    assert rows["Detector by group"] == f"{words} (certificate of 2026-11-20, 496 images)"


@pytest.mark.parametrize(
    "provenance",
    [
        {"people's labels": "ada", "certificate": "good"},
        {"people's labels": {"annotators": ["ada"]}, "certificate": {"right by group": []}},
        {"people's labels": {}, "certificate": {"right by group": {"age": "0 of 1"}}},
    ],
)
def test_facts_of_another_shape_break_no_page(record, provenance):
    rows = dict(facts(with_facts(record, **provenance)))
    assert "Labelled by" not in rows


def test_what_has_no_value_or_only_programs_read_has_no_row():
    nested = {"generation": {"steps": 4, "width": None}, "labels": (), "mitigation": ""}
    model = {"model": {"scheduler_values": '{"beta": 1}', "scheduler_config": "sha256:0"}}
    assert facts_table(nested | model) == [
        ("generation.steps", "4"),
        ("model.scheduler_config", "sha256:0"),
    ]
