"""What parity shows of its record: bars with limits and references, tables, lines, series."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pytest_t2i.audits.parity import ParityAudit
from pytest_t2i.audits.parity.record import (
    CellRecord,
    CellsRecord,
    CorrectedPrompt,
    CorrectionRecord,
    GroupsRecord,
    ModelScoreRecord,
    ParityPart,
)
from pytest_t2i.data import Bounds, Interval, Outcome
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.reporting.terminal import summary_lines
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.record import AuditRecord, RunRecord
from pytest_t2i.sections import BarChart, Paragraph
from pytest_t2i.verdicts.check import Check


def between(estimate, low, high, method="test"):
    return Interval(estimate, low, high, 0.95, method, 4)


SCORE = ModelScoreRecord(
    "model", "clip", between(0.7, 0.5, 0.9), 0.75, 0.37, 3, 7,
    Bounds(0.3, 0.85, 0.3),
)  # fmt: skip
SCORES = (SCORE, replace(SCORE, name="job", floor=0.4), replace(SCORE, detector="other"))
LIMIT = Check(
    "test_it", "model_bias_score", "model", Outcome.FAIL, 0.7, 0.5, 0.9, 0.95, "test", 3, "<=", 0.2
)
PART = ParityPart(
    SCORES,
    (GroupsRecord("ages", {"old": between(0.25, 0.1, 0.4), "young": between(0.75, 0.6, 0.9)}),),
    (CellsRecord("nationality", "job", (
        CellRecord("a", "Iranian", "chef", between(1.0, 0.84, 1.0)),
        CellRecord("b", "Indian", "cook", None),
    )),),
    CorrectionRecord("mine", "clip", 48, 1, 0.75, between(0.6, 0.4, 0.8),
                     30, (CorrectedPrompt("job-nurse", 8, 0.5, between(-0.25, -0.5, 0.1)),)),
)  # fmt: skip


def run_of(part, *checks, **provenance):
    audits = {"parity": AuditRecord(1, part)}
    return with_blocks(
        RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, provenance, {}, checks, audits=audits)
    )


def sections(part=PART, *checks):
    return {one.title: one for one in ParityAudit().sections(part, run_of(part, *checks))}


def blocks(section, kind):
    return [block for block in section.blocks if isinstance(block, kind)]


def test_a_limit_judges_the_deciding_detector_alone():
    (chart,) = blocks(sections(PART, LIMIT)["Model bias score"], BarChart)
    assert [(bar.name, bar.cells[1], bar.outcome) for bar in chart.bars] == [
        ("all", "clip", Outcome.FAIL),
        ("all", "other", None),
        ("job", "clip", None),
    ]
    assert [bar.reference for bar in chart.bars] == [0.37, 0.37, 0.4]
    assert chart.bars[0].limits == (0.2,)


def test_a_check_of_other_prompts_is_not_of_this_score():
    (chart,) = blocks(
        sections(PART, replace(LIMIT, estimate=0.1, low=0.0))["Model bias score"], BarChart
    )
    assert chart.bars[0].outcome is None


@pytest.mark.parametrize("checks", [(), (LIMIT,)])
def test_a_score_is_told_where_no_test_judged_it(checks):
    told = [text for text, _ in summary_lines(list(sections(PART, *checks).values()))]
    score = "model bias score 0.700 [0.500, 0.900] over 3 prompts (not corrected for few "
    beside = "images: 0.750; a fair model shows 0.37 by chance; clip)"
    assert (f"{score}{beside}" in told) == (not checks)


def test_every_part_has_its_line_on_the_terminal():
    told = dict(summary_lines(list(sections(PART, LIMIT).values())))
    assert list(told) == [
        "groups by ages: young 0.750, old 0.250",
        "corrected by 48 labels: model bias score 0.600 [0.400, 0.800] (uncorrected 0.750); "
        "30 more labels would halve the labels' part of the interval",
    ]
    assert list(told.values()) == [{}, {}]


def test_after_correction_there_is_one_score_with_the_uncorrected_beside_it():
    by_people = replace(LIMIT, method="cluster-bootstrap + ppi++")
    corrected = replace(SCORE, uncorrected=between(0.8, 0.7, 0.9), worst_case=None)
    correction = replace(PART.correction, annotators=2)
    part = replace(PART, model_scores=(corrected, *SCORES[2:]), correction=correction)
    for checks in ((), (by_people,)):
        section = sections(part, *checks)["Corrected by people's labels"]
        (told,) = [one.text for one in blocks(section, Paragraph)]
        assert told == (
            "corrected by 48 labels of 2 annotators: model bias score 0.700 [0.500, 0.900] "
            "(uncorrected 0.800); 30 more labels would halve the labels' part of the interval"
        )
        assert "0.750" not in str(section)
    summary = ParityAudit().summary(part)
    assert summary.headline.startswith("corrected by 48 labels of 2 annotators: ")
    assert summary.figures[0].notes[-1] == "corrected by people's labels; uncorrected 0.800"
    assert summary.series["model_bias_score/model"] == corrected.corrected
    lines = [text for text, _ in summary_lines(list(sections(part).values()))]
    assert not [line for line in lines if line.endswith("; clip)")]


def test_where_people_labelled_images_groups_say_that_nothing_corrects_them():
    told = "People's labels do not correct these groups: they correct scores of male and female"
    run = run_of(PART, **{"people's labels": {"images": 48}})
    by_people = {one.title: one for one in ParityAudit().sections(PART, run)}
    assert told in str(by_people["Groups by ages"])
    assert told not in str(sections()["Groups by ages"])


def test_what_was_not_measured_has_no_section():
    assert sections(ParityPart()) == {}
    assert list(sections(ParityPart(SCORES))) == ["Model bias score"]


def test_the_page_and_markdown_show_every_number(tmp_path):
    page = render_html(run_of(PART, LIMIT), tmp_path)
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
    markdown = render_markdown(run_of(PART, LIMIT))
    for text in ("0.300 to 0.850", "0.370", "100 % [84 %, 100 %]"):
        assert text in words
        assert text in markdown.replace("\\", "")
    for text in (
        "the corrected one, which is judged", "Nationality \u00d7 job", "fair model",
        "<summary>1 prompt</summary>", "\u22120.25 [\u22120.50, +0.10]",
    ):  # fmt: skip
        assert text in page or text in words


def test_series_follow_the_deciding_detector():
    summary = ParityAudit().summary(PART)
    assert list(summary.series) == ["model_bias_score/model", "model_bias_score/job"]
    assert summary.series["model_bias_score/model"] == SCORE.corrected
    assert len(summary.frames["scores"].rows) == 3
    assert summary.headline.startswith("model bias score 0.700 [0.500, 0.900] over 3 prompts")


def test_what_labels_made_of_scores_are_tables():
    frames = ParityAudit().summary(PART).frames
    (model,) = frames["correction"].rows
    assert model[:3] == ("clip", 48, 0)
    assert model[-1].estimate == 0.6
    ((name, labels, *_),) = frames["corrected_prompts"].rows
    assert (name, labels) == ("job-nurse", 8)
    assert not ParityAudit().summary(ParityPart()).frames["correction"].rows
