"""Blocks refuse what no renderer could show, and every renderer shows every class of block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import pytest

from pytest_t2i.audits.audit import Audit
from pytest_t2i.data import Interval, Mask, Outcome, Row
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown, section_lines
from pytest_t2i.reporting.terminal import summary_lines, terminal_lines
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.record import AuditRecord, RunRecord
from pytest_t2i.sections import (
    Album,
    Axis,
    Bar,
    BarChart,
    Block,
    Column,
    CurveChart,
    Note,
    Overlay,
    Overlays,
    Paragraph,
    Picture,
    Plane,
    Point,
    RowChart,
    Section,
    Table,
    round_end,
)

KNOWN = Interval(0.25, 0.125, 0.5, 0.95, "exact", 20)
BAR = Bar("hat", KNOWN, "20 images", limits=(0.3,), outcome=Outcome.FAIL, reference=0.1)
SPOT = Mask(1, 1, (0, 1))
BLOCKS = {
    RowChart: RowChart("drawn where it is shown", ("hats",)),
    Paragraph: Paragraph("hats are rare", "summary"),
    Note: Note("how to read this"),
    Table: Table(
        "shares",
        ("group", "share"),
        (("hats", KNOWN), ("caps", None), ("ties", 0.1)),
        best=("", "high"),
    ),
    BarChart: BarChart(
        "Iranian", (BAR, Bar("cap", None, absent="too few")), 0.0, 1.0, "WALS", "text"
    ),
    CurveChart: CurveChart("hat", (0.1, 0.4), -0.5, 0.5, "8 images", "SPI rises"),
    Plane: Plane(
        "Mexican",
        Axis("WALS", 0.0, 1.0, better="high"),
        Axis("score", 0.0, 1.0, 2, "low"),
        (Point("belt", KNOWN, KNOWN, "sdxl", "\u25a0"), Point("coat", KNOWN, KNOWN)),
    ),
    Album: Album("mistakes", (Picture(None, "male", ("female",)),), "1 of 9", "look", left_out=3),
    Overlays: Overlays((Overlay(None, SPOT, SPOT, ("a hat", "worn"), "a hat, worn"),)),
}


class Shows(Audit):
    name = "shows"

    def sections(self, rows, run):
        return [Section("What was seen", tuple(BLOCKS.values()))]


def record():
    seen = AuditRecord(rows=(Row("seen", "model", "model", 1.0),))
    parts = {"shows": seen, "gone": seen}
    return RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {}, audits=parts)


def shown_by(audit):
    return with_blocks(record(), [audit])


def test_every_class_of_block_is_tried_here():
    assert set(BLOCKS) == set(get_args(Block))


def test_the_page_shows_every_block(tmp_path):
    page = render_html(shown_by(Shows()), tmp_path)
    for words in (
        'id="what-was-seen"', "hats are rare", "SPI rises", "how to read this", "[0.125, 0.500]",
        "WALS 0.250", "no interval", "mistakes", "and 3 more", "<b>0.250",
        'aria-label="Mexican: score against WALS"', "good corner", ">\u25a0</text>",
        "sdxl, belt: score 0.25 [0.12, 0.50], WALS 0.250 [0.125, 0.500]",
        "<b>a hat</b><br>worn", "picture gone",
    ):  # fmt: skip
        assert words in page, words


def test_markdown_shows_results_and_no_explanations():
    text = render_markdown(shown_by(Shows()))
    assert "hats are rare." in text
    assert "| caps | - |" in text
    assert "| hat | 0.250 [0.125, 0.500] |" in text
    assert "how to read this" not in text


def test_the_terminal_shows_the_summary_alone():
    lines = [line for line, _ in summary_lines(shown_by(Shows()).sections)]
    assert lines == ["hats are rare"]


def test_a_record_of_an_audit_that_is_not_installed_is_kept_and_not_shown():
    run = record()
    assert run.part("gone").one("seen").value == 1.0
    assert run.sections == []


def test_a_table_whose_rows_do_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"expected 2 cells in every row, got \('hats',\)"):
        Table("shares", ("group", "share"), (("hats",),))


def test_a_scale_without_a_length_is_refused():
    with pytest.raises(ValueError, match="expected low < high"):
        BarChart("x", (), 1.0, 1.0)
    with pytest.raises(ValueError, match="expected low < high"):
        CurveChart("x", (0.1,), 1.0, 1.0)


def test_curves_of_other_steps_than_the_mean_are_refused():
    with pytest.raises(ValueError, match="2 values in every curve, as the mean has, got 1"):
        CurveChart("x", (0.1, 0.2), 0.0, 1.0, curves=((0.1,),))


@dataclass(frozen=True)
class Verdict:
    outcome: Outcome
    bound: float


def test_a_bar_takes_the_worst_verdict_and_every_limit():
    checks = [
        Verdict(Outcome.PASS, 0.5),
        Verdict(Outcome.INCONCLUSIVE, 0.3),
        Verdict(Outcome.PASS, 0.5),
    ]
    bar = Bar.judged("hat", KNOWN, checks)
    assert (bar.outcome, bar.limits) == (Outcome.INCONCLUSIVE, (0.5, 0.3))


def test_a_scale_reaches_beyond_what_it_shows():
    assert round_end([KNOWN, None], (0.1, 0.5, 1.0)) == 0.5
    assert round_end([], (0.1, 0.5)) == 0.1


def test_a_table_takes_from_its_columns_how_they_are_written():
    columns = (Column("model"), Column("off", "zero", "signed percent"))
    table = Table.of("off by", columns, (("mine", -1.5),), digits=2)
    assert (table.columns, table.best, table.digits) == (("model", "off"), ("", "zero"), 2)
    assert [table.style(k) for k in range(2)] == ["", "signed percent"]


def test_a_table_without_styles_writes_all_as_its_digits_say():
    assert Table("t", ("a", "b"), ()).style(1) == ""


def test_bars_begin_where_their_chart_says(tmp_path):
    class Halves(Shows):
        def sections(self, rows, run):
            hat = Bar("hat", KNOWN, kind="female")
            return [Section("Halves", (BarChart("share", (hat,), 0.0, 1.0, middle=0.5),))]

    page = render_html(shown_by(Halves()), tmp_path)
    assert 'class="bar" x="25.0%" y="4" width="25.0%"' in page
    assert '<line class="zero" x1="50.0%"' in page
    assert 'class="track female"' in page
    assert "<span>0</span><span>0.5</span><span>1</span>" in page


def test_a_score_beside_a_bar_is_shown_by_every_renderer(tmp_path):
    bars = (
        Bar(
            "hat",
            KNOWN,
            "25% of images",
            reference=0.1,
            score=Interval(0.15, 0.0, 0.4, 0.95, "", 20),
        ),
        Bar("cap", None, absent="no clear image", reference=0.5),
    )
    chart = BarChart(
        "Iranian", bars, 0.0, 1.0, "share", reference="real world", score="excess", level="summary"
    )

    class Scored(Shows):
        def sections(self, rows, run):
            return [Section("s", (chart,))]

    page = render_html(shown_by(Scored()), tmp_path)
    assert 'aria-label="25% of images; excess 0.150 [0.000, 0.400]"' in page
    assert '<span class="value">no clear image</span>' in page
    assert "<span>share</span>" in page
    markdown = render_markdown(shown_by(Scored()))
    assert "| Iranian | share | real world | excess |" in markdown
    assert "| hat | 0.250 [0.125, 0.500] | 0.100 | 0.150 [0.000, 0.400] |" in markdown
    first, _ = summary_lines(shown_by(Scored()).sections)
    assert first[0].endswith(
        "hat 0.250 [0.125, 0.500], real world 0.100, excess 0.150 [0.000, 0.400]"
    )


def test_a_table_in_full_has_a_block_for_each_row():
    table = Table(
        "t", ("a", "b", "share"), (("x", "y", KNOWN), ("z", "w", None)),
        form="fine percent", names=2,
    )  # fmt: skip
    lines = list(terminal_lines([Section("Shares", (Paragraph("Of hats."), table))], 80))
    assert lines == [
        "Shares", "", "Of hats.", "",
        "x: y", "  share  25.0 % [12.5, 50.0]", "", "z: w", "  share  -", "",
    ]  # fmt: skip


def test_a_table_that_is_whole_shows_every_row():
    rows = tuple((str(k),) for k in range(20))
    shown = [
        list(section_lines([Section("s", (Table("t", ("n",), rows, whole=whole),))]))
        for whole in (True, False)
    ]
    assert [sum(line.startswith("|") for line in lines) for lines in shown] == [22, 18]
    assert "| and 5 more |" in shown[1]


def test_a_paragraph_ends_once():
    told = [Paragraph("so it is"), Paragraph("Add intersection(...), and run.")]
    assert [line for line in section_lines([Section("s", tuple(told))]) if line] == [
        "so it is.", "Add intersection(...), and run.",
    ]  # fmt: skip
