"""What neutrality shows of its record: a chart of each space, a table of all, lines, series."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_t2i.audits.neutrality import GapRecord, LeaningRecord, NeutralityAudit, NeutralityPart
from pytest_t2i.data import Interval, Outcome
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.reporting.terminal import summary_lines
from pytest_t2i.runs.build_record import with_blocks
from pytest_t2i.runs.frames import to_frame
from pytest_t2i.runs.record import AuditRecord, RunRecord
from pytest_t2i.sections import BarChart, Table
from pytest_t2i.verdicts.check import Check

IMAGE = GapRecord("image", "model", Interval(0.02, 0.01, 0.03, 0.95, "", 3), 0.9, 0.92, 3, 0.012)
WOMEN = GapRecord("image", "job", Interval(-0.04, -0.2, -0.01, 0.95, "", 3), 0.9, 0.86, 2)
PIXELS = GapRecord("diff_pix", "model", Interval(0.1, -0.1, 0.3, 0.95, "", 3), 0.25, 0.35, 3, 1e-9)
UNSEEN = GapRecord("prompt", "model", None, None, None, 0)
PART = NeutralityPart((IMAGE, WOMEN, PIXELS, UNSEEN), LeaningRecord(("image", "prompt"), 0.04, 0.9))
LIMIT = Check(
    "test_it", "similarity_gap", "model in image space", Outcome.PASS, 0.02, 0.01, 0.03, 0.95, "",
    3, "<=", 0.05,
)  # fmt: skip
LINE = "similarity gap (> 0 leans masculine): image +0.020, diff_pix +0.100"


def run(part=PART, checks=(LIMIT,)):
    return with_blocks(RunRecord(
        "2026-11-22T10:00:00+00:00", 9.0, "mine", {}, {}, {}, checks=checks,
        audits={"neutrality": AuditRecord(1, part)},
    ))  # fmt: skip


def blocks(part=PART, checks=(LIMIT,)):
    (section,) = NeutralityAudit().sections(part, run(part, checks))
    assert (section.title, section.anchor) == ("Similarity gaps", "similarity-gaps")
    return section.blocks


def charts(*given, **more):
    return [block for block in blocks(*given, **more) if isinstance(block, BarChart)]


def test_every_space_has_a_scale_that_holds_its_intervals():
    image, pixels, prompt = charts()
    assert [chart.title for chart in (image, pixels, prompt)] == [
        "image space", "Diff. Pix", "prompt space",
    ]  # fmt: skip
    assert [(chart.low, chart.high) for chart in (image, pixels)] == [(-0.2, 0.2), (-0.5, 0.5)]
    assert prompt.bars[0].interval is None


def test_a_scale_holds_the_limit_of_its_gap_on_either_side():
    (chart,) = charts(NeutralityPart((IMAGE,)))
    assert (chart.low, chart.high) == (-0.05, 0.05)
    assert chart.bars[0].limits == (-0.05, 0.05)
    assert chart.bars[0].outcome is Outcome.PASS


def test_a_gap_beyond_every_scale_is_drawn_on_its_own():
    wide = replace(IMAGE, gap=Interval(3.0, 2.5, 3.5, 0.95, "", 3))
    assert charts(NeutralityPart((wide,)), ())[0].high == 3.5


def test_which_way_a_gap_leans():
    bars = charts()[0].bars
    assert [(bar.name, bar.kind) for bar in bars] == [("all triplets", "male"), ("job", "female")]
    assert [bar.note for bar in bars] == [
        "3 triplets; leans masculine", "2 triplets; leans feminine",
    ]  # fmt: skip
    assert charts()[1].bars[0].note == "3 triplets; 0 lies within the interval"


def test_differing_pixels_are_told_as_the_paper_prints_them():
    (table,) = (block for block in blocks() if isinstance(block, Table))
    assert table.rows == (
        ("image space", 0.9, 0.92, IMAGE.gap, "0.012"),
        (
            "Diff. Pix (%, lower is more alike; the gap is of 1 minus this)",
            "75.00", "65.00", PIXELS.gap, "< 0.0001",
        ),
        ("prompt space", None, None, None, "-"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("leaning", "told"),
    [
        (None, ""),
        (PART.leaning, "; neutral is nearer to masculine in all 2 spaces (p = 0.04)"),
        (
            LeaningRecord(("image", "ssim"), 0.9, 1e-7),
            "; neutral is nearer to feminine in all 2 spaces (p < 0.0001)",
        ),
        (
            LeaningRecord(("image", "ssim"), 0.9, 0.06),
            "; no gender is shown to be nearer to neutral in all 2 spaces (p = 0.06)",
        ),
    ],
)
def test_the_line_of_the_terminal(leaning, told):
    part = replace(PART, leaning=leaning)
    sections = NeutralityAudit().sections(part, run(part))
    assert [line for line, _ in summary_lines(sections)] == [LINE + told]
    assert NeutralityAudit().summary(part).headline == LINE + told


def test_without_an_interval_no_line_is_told():
    part = NeutralityPart((UNSEEN,))
    assert list(summary_lines(NeutralityAudit().sections(part, run(part)))) == []
    assert NeutralityAudit().summary(part).figures == []


def test_the_page_and_the_summary(tmp_path):
    page = render_html(run(), tmp_path)
    for told in (
        "Similarities by space", "+0.020 [+0.010, +0.030]", "\u22120.20 feminine",
        "+0.20 masculine", 'href="#similarity-gaps"', 'class="track female"',
    ):  # fmt: skip
        assert told in page
    summary = render_markdown(run())
    assert "| Space | Neutral to feminine | Neutral to masculine | Gap | p-value |" in summary
    assert "| image space | 0.900 | 0.920 | 0.020 [0.010, 0.030] | 0.012 |" in summary
    assert "all triplets" not in summary


def test_what_other_places_show():
    summary = NeutralityAudit().summary(PART)
    assert summary.series == {
        "similarity_gap/image: model": IMAGE.gap,
        "similarity_gap/image: job": WOMEN.gap,
        "similarity_gap/diff_pix: model": PIXELS.gap,
    }
    assert [(v.metric, v.name, v.interval) for v in summary.values][-1] == (
        "similarity_gap", "prompt: model", None,
    )  # fmt: skip
    (figure,) = summary.figures
    assert (figure.value, figure.notes[0]) == ("+0.100", "widest of 2 spaces: diff_pix")
    frame = to_frame(run(), "gaps")
    assert frame.columns.tolist()[2:] == [
        "space", "set", "triplets", "to_feminine", "to_masculine", "gap", "gap_low", "gap_high",
    ]  # fmt: skip
    assert len(frame) == 4
