"""What detector validation keeps of a run, and shows."""

from __future__ import annotations

from dataclasses import replace

from filled import filled

from pytest_t2i.audits.detector_validation import DetectorValidation
from pytest_t2i.audits.detector_validation.report import SHOWN, TrialRecord, TrialsPart
from pytest_t2i.data import Interval
from pytest_t2i.sections import Album, Note, Paragraph, Table

AUDIT = DetectorValidation()
TRIAL = filled(TrialRecord)
GENDER = replace(TRIAL, accuracy_by_label={"male": TRIAL.accuracy, "female": None})


def blocks(*trials):
    (section,) = AUDIT.sections(TrialsPart(trials), None)
    assert section.title == "Detector evaluation"
    return section.blocks


def table_of(*trials):
    return next(block for block in blocks(*trials) if isinstance(block, Table))


def test_scores_are_shown_where_labels_are_of_gender():
    filters = ("Detector", "Precision", "Recall", "F1", "Filter rate")
    scores = ("Model bias score", "Deviation", "Prompt bias difference")
    gender = (*filters, "Accuracy, male", "female", "overall", *scores)
    assert table_of(GENDER).columns == gender
    ages = replace(TRIAL, accuracy_by_label={"young": None, "old": None})
    assert table_of(ages).columns == (*filters, "Accuracy, young", "old", "overall")


def test_detectors_of_other_labels_have_a_dash():
    table = table_of(GENDER, TRIAL)
    cells = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert (cells[0]["key"], cells[1]["key"]) == (None, TRIAL.accuracy_by_label["key"])


def test_the_model_bias_score_has_no_best_and_a_deviation_is_best_near_zero():
    table = table_of(GENDER, GENDER)
    best = dict(zip(table.columns, table.best, strict=True))
    assert (best["Model bias score"], best["Deviation"], best["F1"]) == ("", "zero", "high")
    assert best["Prompt bias difference"] == "low"
    assert table.style(table.columns.index("Deviation")) == "signed percent"


def test_a_line_for_each_detector():
    off = replace(GENDER, percent_deviation=Interval(-75.0, -80.0, -70.0, 0.95, "", 9))
    lines = [b.text for b in blocks(off, TRIAL) if isinstance(b, Paragraph)]
    assert lines[0] == (
        "detector on 2 labelled images: F1 0.400, filter rate 0.400, accuracy 0.400 "
        "(male 0.400, female -); model bias score off by -75.0 %"
    )
    assert len(lines) == 2


def test_the_note_says_what_people_said():
    note = next(block for block in blocks(TRIAL) if isinstance(block, Note))
    assert note.text.startswith(
        "2 images of 2 prompts with people's labels, 2 of them clear. By them the model bias "
        "score is 0.500. The filter keeps"
    )


def test_an_album_of_the_first_mistakes():
    mistake = replace(TRIAL.mistakes[0], file="/x/a.png", label="low_quality", prompt="a nurse")
    many = replace(TRIAL, mistakes=(mistake,) * (SHOWN + 2))
    (album,) = (b for b in blocks(many, replace(TRIAL, mistakes=())) if isinstance(b, Album))
    assert (len(album.pictures), album.left_out) == (SHOWN, 2)
    assert album.note == f"{SHOWN + 2} not clear but kept"
    picture = album.pictures[0]
    assert (picture.word, picture.kind) == ("low quality", "undetected")
    assert picture.others == ("said label",)
    assert picture.title == "a.png\npeople: low quality (reason)\na nurse"


def test_nothing_is_shown_of_no_detectors():
    assert AUDIT.sections(TrialsPart(()), None) == ()


def test_its_table_has_a_row_for_each_detector():
    frame = AUDIT.summary(TrialsPart((GENDER, TRIAL))).frames["trials"]
    rows = [dict(zip(frame.columns, row, strict=True)) for row in frame.rows]
    assert rows[0]["accuracy_male"] == GENDER.accuracy
    assert rows[0]["accuracy_key"] is None
    assert rows[1]["accuracy_key"] == TRIAL.accuracy_by_label["key"]
    assert [row["detector"] for row in rows] == ["detector"] * 2
