"""What detector validation records as rows, and shows."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from pytest_t2i.audits.detector_validation import SHOWN, DetectorValidation
from pytest_t2i.audits.detector_validation.trials import Trials
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.data import Interval
from pytest_t2i.reporting.run_facts import NEVER, how_known, label_status
from pytest_t2i.runs.record.record import AuditRecord, RunRecord
from pytest_t2i.sections import Album, Note, Paragraph, Table

AUDIT = DetectorValidation()
PEOPLE, DETECTOR = "mmmmffff??", "mmm?ffmm?m"


def recorded(*trials):
    asking = SimpleNamespace(selection=SimpleNamespace(detectors=("colour",)))
    context = SimpleNamespace(tests=[asking], once=lambda key, make: Trials(trials))
    return Rows.measured(AUDIT.rows(context))


def blocks(rows):
    (section,) = AUDIT.sections(rows, None)
    assert section.title == "Detector evaluation"
    return section.blocks


def table_of(rows):
    return next(block for block in blocks(rows) if isinstance(block, Table))


@pytest.fixture
def rows(tried):
    return recorded(tried(PEOPLE, DETECTOR))


def changed(rows, metric, **changes):
    return replace(
        rows, rows=tuple(replace(r, **changes) if r.metric == metric else r for r in rows)
    )


def test_rows_have_the_subjects_of_checks(rows, tried):
    trial = tried(PEOPLE, DETECTOR)
    assert len({(row.metric, row.subject) for row in rows}) == len(list(rows))
    accuracy, female = (rows.one("accuracy", f"colour{on}") for on in ("", " on female"))
    assert accuracy.value == trial.accuracy().interval
    assert accuracy.counts == {"images": 10, "clear": 8, "prompts": 2}
    assert accuracy.facts == {"labelled": str(trial.labelled.folder)}
    assert (female.value, female.dims["label"]) == (trial.accuracy("female").interval, "female")
    assert rows.one("filter_f1", "colour").value == trial.filter_f1.interval
    score = rows.one("model_bias_score", "colour")
    assert (score.value, score.facts) == (
        trial.model_bias_score(), {"by_people": trial.model_bias_score(by_people=True)},
    )  # fmt: skip
    few = rows.one("prompt_bias_difference", "colour")
    assert (few.value, few.absent[:25]) == (None, "images of fewer than 5 pr"[:25])
    assert {row.about for row in rows} == {"detector"}


def test_what_a_detector_says_of_each_label_is_counted(rows):
    kept = {row.dims["label"]: (row.value, row.counts) for row in rows.of("kept_share", "detector")}
    assert kept == {
        "female": (1.0, {"female": 2, "male": 2}),
        "low_quality": (0.5, {"male": 1, "undetected:no_face": 1}),
        "male": (0.75, {"male": 3, "undetected:no_face": 1}),
    }


def test_nothing_is_recorded_unless_a_test_asks():
    test = SimpleNamespace(selection=SimpleNamespace(detectors=()))
    context = SimpleNamespace(tests=[test])
    assert list(AUDIT.rows(context)) == []
    assert AUDIT.recorded(context) is None
    assert not recorded().rows


def test_scores_are_shown_where_labels_are_of_gender(rows):
    filters = ("Detector", "Precision", "Recall", "F1", "Filter rate")
    scores = ("Model bias score", "Deviation", "Prompt bias difference")
    gender = (*filters, "Accuracy, male", "female", "overall", *scores)
    assert table_of(rows).columns == gender
    ages = [
        replace(row, dims=row.dims | {"label": {"male": "young"}.get(row.dims["label"], "old")})
        if "label" in row.dims
        else row
        for row in rows
    ]
    assert table_of(Rows(tuple(ages))).columns == (
        *filters, "Accuracy, young", "old", "overall",
    )  # fmt: skip


def test_a_row_for_each_detector_with_a_dash_for_other_labels(rows):
    other = tuple(
        replace(
            row,
            subject=row.subject.replace("colour", "ages"),
            dims=row.dims and {"detector": "ages", "label": "young"},
        )
        for row in rows
        if row.metric in ("accuracy", "filter_f1")
    )
    table = table_of(Rows((*rows, *other)))
    cells = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["Detector"] for row in cells] == ["colour", "ages"]
    assert (cells[0]["young"], cells[1]["female"]) == (None, None)
    assert cells[0]["overall"] == rows.rows[0].value


def test_the_model_bias_score_has_no_best_and_a_deviation_is_best_near_zero(rows):
    table = table_of(rows)
    best = dict(zip(table.columns, table.best, strict=True))
    assert (best["Model bias score"], best["Deviation"], best["F1"]) == ("", "zero", "high")
    assert best["Prompt bias difference"] == "low"
    assert table.style(table.columns.index("Deviation")) == "signed percent"


def test_a_line_for_each_detector(rows):
    off = changed(rows, "percent_deviation", value=Interval(-75.0, -80.0, -70.0, 0.95, "", 9))
    lines = [b.text for b in blocks(off) if isinstance(b, Paragraph)]
    assert lines == [
        "colour on 10 labelled images: F1 0.875, filter rate 0.500, accuracy 0.714 "
        "(male 1.000, female 0.500); model bias score off by -75.0 %"
    ]


def test_the_notes_say_how_to_read_it_and_what_people_said(rows):
    first, second = (block.text for block in blocks(rows) if isinstance(block, Note))
    assert first.startswith("The filter keeps clear images")
    assert second == (
        "10 images of 2 prompts with people's labels, 8 of them clear. By them the model bias "
        "score is 0.000."
    )


def test_an_album_of_the_mistakes(rows):
    (album,) = (block for block in blocks(rows) if isinstance(block, Album))
    assert (album.title, len(album.pictures), album.left_out) == ("colour", 4, 0)
    assert album.note == "1 clear but filtered out, 1 not clear but kept, 2 wrong label"
    wrong, unclear = album.pictures[1], album.pictures[3]
    assert (wrong.word, wrong.kind, wrong.others) == ("female", "female", ("said male",))
    assert (unclear.word, unclear.kind) == ("low quality", "undetected")
    assert unclear.title == "09.png\npeople: low quality\nprompt 1"
    assert unclear.labelled.endswith("09.png")


def test_an_album_of_the_first_mistakes(tried):
    rows = recorded(tried("m" * (SHOWN + 2), "f" * (SHOWN + 2)))
    (album,) = (block for block in blocks(rows) if isinstance(block, Album))
    assert (len(album.pictures), album.left_out) == (SHOWN, 2)
    assert album.note == f"{SHOWN + 2} wrong label"
    assert recorded(tried("mf", "mf")).pictures == ()


def test_the_run_says_how_well_a_detector_is_known(rows):
    audits = {"detector_validation": AuditRecord(rows=rows.rows)}
    run = RunRecord("2026-11-21T10:00:00+00:00", 1.0, "", {}, {}, {}, audits=audits)
    assert label_status(run) == "detectors were tried on 10 labelled images"
    assert how_known(run, "colour").startswith("measured on 10 labels: male 1.00 [")
    assert how_known(run, "another") == NEVER
