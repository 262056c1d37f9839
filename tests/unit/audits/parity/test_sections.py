"""What parity shows of its record: bars with limits and references, tables, lines, series."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from score_rows import score_row

from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.audits.parity import ParityAudit
from pytest_t2i.data import Bounds, Interval, Outcome, Row
from pytest_t2i.metrics.info import INFO
from pytest_t2i.reporting.first_screen import figures
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.reporting.terminal import summary_lines
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.record import AuditRecord, MetricRecord, RunRecord
from pytest_t2i.runs.record.summaries import headlines
from pytest_t2i.sections import BarChart, Paragraph
from pytest_t2i.verdicts.check import Check


def between(estimate, low, high, method="test"):
    return Interval(estimate, low, high, 0.95, method, 4)


WORST = Bounds(0.3, 0.85, 0.3)
SCORE = score_row(between(0.7, 0.5, 0.9), worst=WORST)
SCORES = (
    SCORE,
    score_row(between(0.7, 0.5, 0.9), floor=0.4, name="job", worst=WORST),
    score_row(between(0.7, 0.5, 0.9), detector="other", worst=WORST),
)
LIMIT = Check(
    "test_it", "model_bias_score", "model", Outcome.FAIL, 0.7, 0.5, 0.9, 0.95, "test", 3, "<=", 0.2
)
AGES = {"detector": "ages"}
GROUPS = (
    Row("group_share", "old", "group", between(0.25, 0.1, 0.4), AGES),
    Row("group_share", "young", "group", between(0.75, 0.6, 0.9), AGES),
    Row("group_distance", "model", "model", None, AGES),
)
CELLS = (
    Row("share_of_men", "a", "prompt", between(1.0, 0.84, 1.0),
        {"nationality": "Iranian", "job": "chef"}),
    Row("share_of_men", "b", "prompt", None, {"nationality": "Indian", "job": "cook"}),
)  # fmt: skip
CORRECTION = Row(
    "corrected_model_bias_score", "clip", "detector", between(0.6, 0.4, 0.8), {},
    {"labelled": "mine", "by_detector": 0.75, "labels_to_halve": 30},
    {"labels": 48, "left_out": 1, "annotators": 0},
)  # fmt: skip
PROMPT = Row(
    "corrected_prompt_bias_score", "job-nurse", "prompt", between(-0.25, -0.5, 0.1), {},
    {"by_detector": 0.5}, {"labels": 8},
)  # fmt: skip
PART = Rows((*SCORES, *GROUPS, *CELLS, CORRECTION, PROMPT))


def run_of(part, *checks, **provenance):
    run = RunRecord(
        "2026-11-21T10:00:00+00:00", 1.0, "m", {}, provenance, {}, checks,
        audits={"parity": AuditRecord(rows=part.rows)},
        metrics={name: MetricRecord.of(info) for name, info in INFO.items()},
    )  # fmt: skip
    return with_blocks(run)


def sections(part=PART, *checks):
    return {one.title: one for one in run_of(part, *checks).sections}


def blocks(section, kind):
    return [block for block in section.blocks if isinstance(block, kind)]


def test_a_limit_judges_the_score_that_it_was_compared_with():
    chart, by_axis = blocks(sections(PART, LIMIT)["Model bias score"], BarChart)
    assert [(bar.name, bar.cells[1], bar.outcome) for bar in (*chart.bars, *by_axis.bars)] == [
        ("all", "clip", Outcome.FAIL),
        ("all", "other", Outcome.FAIL),
        ("job", "clip", None),
    ]
    assert [bar.reference for bar in (*chart.bars, *by_axis.bars)] == [0.37, 0.37, 0.4]
    assert chart.bars[0].limits == (0.2,)


def test_a_check_of_other_prompts_is_not_of_this_score():
    other = replace(LIMIT, estimate=0.1, low=0.0)
    chart, _ = blocks(sections(PART, other)["Model bias score"], BarChart)
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
    corrected = score_row(between(0.7, 0.5, 0.9), uncorrected=0.8)
    correction = replace(CORRECTION, counts={**CORRECTION.counts, "annotators": 2})
    part = Rows((corrected, *SCORES[2:], *GROUPS, *CELLS, correction, PROMPT))
    for checks in ((), (by_people,)):
        section = sections(part, *checks)["Corrected by people's labels"]
        (told,) = [one.text for one in blocks(section, Paragraph)]
        assert told == (
            "corrected by 48 labels of 2 annotators: model bias score 0.700 [0.500, 0.900] "
            "(uncorrected 0.800); 30 more labels would halve the labels' part of the interval"
        )
        assert "0.750" not in str(section)
    (figure,) = figures(run_of(part))
    assert figure.notes[-1] == "corrected by people's labels; uncorrected 0.800"
    lines = [text for text, _ in summary_lines(list(sections(part).values()))]
    assert not [line for line in lines if line.endswith("; clip)")]


def test_where_people_labelled_images_groups_say_that_nothing_corrects_them():
    told = "People's labels do not correct these groups: they correct scores of male and female"
    run = run_of(PART, **{"people's labels": {"images": 48}})
    by_people = {one.title: one for one in run.sections}
    assert told in str(by_people["Groups by ages"])
    assert told not in str(sections()["Groups by ages"])


def test_what_was_not_measured_has_no_section():
    assert ParityAudit().sections(Rows(), run_of(Rows())) == []
    assert list(sections(Rows(SCORES))) == ["Model bias score"]


def test_the_page_and_markdown_show_every_number(tmp_path):
    page = render_html(run_of(PART, LIMIT), tmp_path)
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
    markdown = render_markdown(run_of(PART, LIMIT))
    for text in ("0.300", "0.850", "0.370", "100 % [84 %, 100 %]"):
        assert text in words
        assert text in markdown.replace("\\", "")
    for text in (
        "the corrected one, which is judged", "Nationality \u00d7 job", "fair model",
        "<summary>1 prompt</summary>", "\u22120.25 [\u22120.50, +0.10]",
    ):  # fmt: skip
        assert text in page or text in words


def test_what_follows_from_the_rows():
    assert PART.series()["model_bias_score/clip"] == SCORE.value
    assert ParityAudit().first(PART) is PART.rows[0]
    assert ParityAudit().first(Rows(GROUPS)).metric == "group_distance"
    (line,) = headlines(run_of(Rows(SCORES)))
    assert line.startswith("model bias score 0.700 [0.500, 0.900] over 3 prompts")
