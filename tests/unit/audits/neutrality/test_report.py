"""What neutrality shows of its record: a chart of each space, a table of all, lines, series."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gap_rows import gap_row

from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.audits.neutrality import LEANING, NeutralityAudit
from pytest_t2i.data import Interval, Outcome, Row
from pytest_t2i.metrics.info import INFO
from pytest_t2i.reporting.first_screen import figures
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.reporting.terminal import summary_lines
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.frames import to_frame
from pytest_t2i.runs.record.record import AuditRecord, MetricRecord, RunRecord
from pytest_t2i.runs.record.summaries import headlines
from pytest_t2i.sections import BarChart, Table
from pytest_t2i.verdicts.check import Check

IMAGE = gap_row("image", Interval(0.02, 0.01, 0.03, 0.95, "", 3), (0.9, 0.92), 3, 0.012)
WOMEN = gap_row("image", Interval(-0.04, -0.2, -0.01, 0.95, "", 3), (0.9, 0.86), 2, name="job")
PIXELS = gap_row("diff_pix", Interval(0.1, -0.1, 0.3, 0.95, "", 3), (0.25, 0.35), 3, 1e-9)
UNSEEN = gap_row("prompt", None)


def leaning(masculine, feminine, spaces="image, prompt"):
    return tuple(
        Row(LEANING, "model", "model", p_value, {"towards": side}, {"spaces": spaces})
        for side, p_value in (("masculine", masculine), ("feminine", feminine))
    )


GAPS = (IMAGE, WOMEN, PIXELS, UNSEEN)
PART = Rows((*GAPS, *leaning(0.04, 0.9)))
LIMIT = Check(
    "test_it", "similarity_gap", "model in image space", Outcome.PASS, 0.02, 0.01, 0.03, 0.95, "",
    3, "<=", 0.05,
)  # fmt: skip
METRIC = "similarity_gap"
LINE = "similarity gap (> 0: nearer to masculine): image +0.020, diff_pix +0.100"


def run(part=PART, checks=(LIMIT,)):
    return with_blocks(RunRecord(
        "2026-11-22T10:00:00+00:00", 9.0, "mine", {}, {}, {}, checks=checks,
        audits={"neutrality": AuditRecord(rows=part.rows)},
        metrics={METRIC: MetricRecord.of(INFO[METRIC])},
    ))  # fmt: skip


def blocks(part=PART, checks=(LIMIT,)):
    (section,) = run(part, checks).sections
    assert (section.title, section.anchor) == ("Similarity gaps", "similarity-gaps")
    return section.blocks


def charts(*given, **more):
    return [block for block in blocks(*given, **more) if isinstance(block, BarChart)]


def test_every_space_has_a_scale_that_holds_its_intervals():
    image, by_axis, pixels, prompt = charts(checks=())
    assert [chart.title for chart in (image, by_axis, pixels, prompt)] == [
        "image space", "image space, by axis", "Diff. Pix", "prompt space",
    ]  # fmt: skip
    assert [(c.low, c.high) for c in (by_axis, pixels)] == [(-0.2, 0.2), (-0.5, 0.5)]
    assert prompt.bars[0].interval is None
    assert [(bar.name, bar.cells) for bar in by_axis.bars] == [("job", ())]
    assert image.ends == ("feminine", "masculine")


def test_a_scale_holds_the_limit_of_its_gap_on_either_side():
    (chart,) = charts(Rows((IMAGE,)))
    assert (chart.low, chart.high) == (-0.05, 0.05)
    assert chart.bars[0].limits == (-0.05, 0.05)
    assert chart.bars[0].outcome is Outcome.PASS


def test_a_gap_beyond_every_scale_is_drawn_on_its_own():
    wide = replace(IMAGE, value=Interval(3.0, 2.5, 3.5, 0.95, "", 3))
    assert charts(Rows((wide,)), ())[0].high == 3.5


def test_differing_pixels_are_told_as_the_paper_prints_them():
    (table,) = (block for block in blocks() if isinstance(block, Table))
    assert table.rows == (
        ("image space", 0.9, 0.92, IMAGE.value, "0.012"),
        (
            "Diff. Pix (%, lower is more alike; the gap is of 1 minus this)",
            "75.00", "65.00", PIXELS.value, "< 0.0001",
        ),
        ("prompt space", None, None, None, "-"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tested", "told"),
    [
        ((), ""),
        (leaning(0.04, 0.9), "; neutral is nearer to masculine in all 2 spaces (p = 0.04)"),
        (leaning(0.9, 1e-7), "; neutral is nearer to feminine in all 2 spaces (p < 0.0001)"),
        (
            leaning(0.9, 0.06),
            "; no gender is shown to be nearer to neutral in all 2 spaces (p = 0.06)",
        ),
    ],
)
def test_the_line_of_the_terminal(tested, told):
    part = Rows((*GAPS, *tested))
    assert [line for line, _ in summary_lines(run(part).sections)] == [LINE + told]
    assert headlines(run(part)) == [LINE + told]


def test_without_an_interval_no_line_is_told():
    part = Rows((UNSEEN,))
    assert list(summary_lines(run(part).sections)) == []
    assert NeutralityAudit().first(part) is None


def test_the_page_and_the_summary(tmp_path):
    page = render_html(run(), tmp_path)
    for told in (
        "Similarities by space", "+0.020 [+0.010, +0.030]", "\u22120.20 feminine",
        "+0.20 masculine", 'href="#similarity-gaps"',
    ):  # fmt: skip
        assert told in page
    summary = render_markdown(run())
    assert "| Space | Neutral to feminine | Neutral to masculine | Gap | p-value |" in summary
    assert "| image space | 0.900 | 0.920 | 0.020 [0.010, 0.030] | 0.012 |" in summary
    assert "all triplets" not in summary


def test_what_other_places_show():
    series = PART.series()
    assert series["similarity_gap/image"] == IMAGE.value
    assert series["similarity_gap/diff_pix"] == PIXELS.value
    (figure,) = figures(run())
    assert (figure.value, figure.notes[1]) == ("+0.100", "furthest of 2: diff_pix")
    frame = to_frame(run(), "neutrality")
    assert frame.columns.tolist()[2:] == [
        "metric", "about", "subject", "space", "towards", "value", "value_low", "value_high",
        "triplets", "name", "to_feminine", "to_masculine", "p_value", "spaces", "absent",
    ]  # fmt: skip
    assert len(frame) == 6
