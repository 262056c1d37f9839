"""What variety shows: a line, and charts on one scale."""

from __future__ import annotations

from dataclasses import replace

from stereotype_rows import wals_row

from pytest_t2i.data import Interval, Outcome
from pytest_t2i.metrics.info import INFO
from pytest_t2i.reporting.terminal import summary_lines
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.record import AuditRecord, RunRecord
from pytest_t2i.sections import BarChart
from pytest_t2i.verdicts.check import Check

BEARD = wals_row("beard", Interval(0.06, 0.04, 0.08, 0.95, "", 12))
HAT = wals_row("hat", None)
CENTRED = wals_row("beard", Interval(0.01, 0.0, 0.02, 0.95, "", 12), "images", centred=True)
LIMIT = Check(
    "test_it", "wals", BEARD.subject, Outcome.FAIL, 0.06, 0.04, 0.08, 0.95, "", 12, ">=", 0.09
)


def sections(*rows, checks=(LIMIT,)):
    run = RunRecord(
        "2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {}, checks, metrics={"wals": INFO["wals"]},
        audits={"variety": AuditRecord(rows=rows)},
    )  # fmt: skip
    return with_blocks(run).sections


def charts(*rows):
    (section,) = sections(*rows)
    return [block for block in section.blocks if isinstance(block, BarChart)]


def test_each_source_of_a_direction_has_a_chart_on_one_scale():
    plain, centred = charts(BEARD, HAT, CENTRED)
    assert [(bar.name, bar.interval, bar.outcome) for bar in plain.bars] == [
        ("beard", BEARD.value, Outcome.FAIL), ("hat", None, None),
    ]  # fmt: skip
    assert plain.bars[0].limits == (0.09,)
    assert plain.bars[1].absent == "all 12 images are the same"
    assert (plain.title, plain.note) == (
        "Iranian", "direction from the descriptions; 12 images, by clip",
    )  # fmt: skip
    assert centred.note == "direction from images of the descriptions, centred; 12 images, by clip"
    assert [(chart.low, chart.high) for chart in (plain, centred)] == [(0.0, 0.1)] * 2


def test_the_lowest_score_is_a_line_of_the_terminal():
    wide = wals_row("cap", Interval(0.2, 0.1, 0.3, 0.95, "", 12))
    ((line, _),) = summary_lines(sections(BEARD, HAT, CENTRED, wide))
    assert line == (
        "variety (WALS): lowest 0.060 [0.040, 0.080] (Iranian: beard, direction from text) of 2"
    )
    assert list(summary_lines(sections(HAT, CENTRED))) == []


def test_other_numbers_of_images_stand_apart():
    fewer = replace(wals_row("cap", None), counts={"images": 9})
    assert [len(chart.bars) for chart in charts(BEARD, HAT, fewer)] == [2, 1]
