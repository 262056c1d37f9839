"""The blocks of sections as page, Markdown and terminal render them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_t2i.data import JPEG, Interval
from pytest_t2i.reporting.audit_sections import best_rows, labelled_pictures
from pytest_t2i.reporting.html_blocks import drawn
from pytest_t2i.reporting.markdown import section_lines
from pytest_t2i.reporting.terminal import summary_lines
from pytest_t2i.sections import Album, Bar, BarChart, Column, CurveChart, Picture, Section, Table
from pytest_t2i.sections.plain import plain_section, section_of

OFF = Interval(-12.34, -20.0, 3.21, 0.95, "", 9)
COLUMNS = (
    Column("detector"),
    Column("F1", "high"),
    Column("off", "zero", "signed percent"),
)
TABLE = Table.of("t", COLUMNS, (("one-x", 0.5, OFF), ("two", None, None)), level="summary")
SECTIONS = [Section("S", (TABLE,))]


def test_a_signed_percentage_in_every_renderer(tmp_path):
    assert "| one-x | 0.500 | -12.3 % [-20.0, +3.2] |" in list(section_lines(SECTIONS))
    first, _ = summary_lines(SECTIONS)
    assert first[0] == "detector one-x, F1 0.500, off -12.3 % [-20.0, +3.2]"
    ((block,),) = (section.blocks for section in drawn(SECTIONS, tmp_path))
    cells = [(c.text, c.interval, c.best) for c in block.content["rows"][0]]
    assert cells == [
        ("one-x", "", False),
        ("0.500", "", True),
        ("\u221212.3 %", "[\u221220.0, +3.2]", True),
    ]
    assert [c.text for c in block.content["rows"][1]] == ["two", "\u2013", "\u2013"]


def test_the_best_of_one_row_is_no_news():
    assert best_rows([0.5], "high") == set()
    assert best_rows([0.5, None], "high") == {0}
    assert best_rows([None, None], "high") == set()


def test_labelled_images_of_a_section_are_those_of_its_albums(tmp_path):
    here = str(tmp_path / "a.png")
    album = Album("a", (Picture(None, "male", labelled=here), Picture(None, "none")))
    section = Section("S", (TABLE, album))
    assert labelled_pictures([section]) == [here]
    pictures = drawn([section], tmp_path)[0].blocks[1].content["pictures"]
    assert [p.absent for p in pictures] == ["file gone or unreadable", "no picture"]


CURVES = CurveChart(
    "hat", (0.0, 0.5), -1.0, 1.0, "8 images", "SPI rises", ((-0.5, 0.0), (0.5, 1.0)),
    ((0.0, 1.0),), form="signed", strips=(f"{JPEG}AAAA",),
)  # fmt: skip


def test_curves_are_points_of_a_box_of_100(tmp_path):
    (beside,) = drawn([Section("S", (CURVES, CURVES))], tmp_path)[0].blocks
    assert (beside.kind, len(beside.content)) == ("beside", 2)
    content = beside.content[0].content
    assert content.mean == "0.0,50.0 100.0,25.0"
    assert content.band == "0.0,75.0 100.0,50.0 100.0,0.0 0.0,25.0"
    assert content.zero == 50.0


@pytest.mark.parametrize("strip", ["https://x.example/a.jpg", f"{JPEG}AA'", "data:image/svg+xml,a"])
def test_a_strip_that_is_no_picture_is_refused(strip):
    plain = plain_section(Section("S", (CURVES,)))
    assert section_of(plain).blocks == (CURVES,)
    plain["blocks"][0]["strips"].append(strip)
    with pytest.raises(ValueError, match="expected strips as data:image/jpeg;base64"):
        section_of(plain)


def test_folded_curves_stand_alone(tmp_path):
    folded = replace(CURVES, level="detail")
    (block,) = drawn([Section("S", (folded,))], tmp_path)[0].blocks
    assert (block.kind, block.folded, block.title) == ("curves", True, "hat")


def test_curves_are_told_in_words_where_they_are_asked_for():
    assert list(section_lines([Section("S", (CURVES,))])) == []
    told = [Section("S", (replace(CURVES, level="summary"),))]
    assert list(section_lines(told)) == ["hat: SPI rises.", ""]
    assert [line for line, _ in summary_lines(told)] == ["hat: SPI rises"]


def test_numbers_with_a_sign_and_ends_with_words(tmp_path):
    bar = Bar("a", Interval(-0.5, -0.75, 0.5, 0.95, "", 9), kind="female", limits=(-0.5, 0.5))
    chart = BarChart("c", (bar,), -1.0, 1.0, "gap", form="signed", ends=("women", "men"))
    (block,) = drawn([Section("S", (chart,))], tmp_path)[0].blocks
    ((group,),) = block.content.columns
    assert (group.low, group.middle, group.high) == ("\u22121.00 women", "0", "+1.00 men")
    (row,) = group.rows
    assert row.value == "\u22120.500 [\u22120.750, +0.500]"
    assert (row.track.kind, row.track.bar, row.track.limits) == ("female", (25.0, 25.0), (25, 75))
    assert "| a | -0.500 [-0.750, +0.500] |" in list(section_lines([Section("S", (chart,))]))
