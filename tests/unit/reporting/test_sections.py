"""The blocks of sections as page, Markdown and terminal render them."""

from __future__ import annotations

from pytest_t2i.data import Interval
from pytest_t2i.reporting.audit_sections import best_rows, pictures_in
from pytest_t2i.reporting.html_sections import drawn
from pytest_t2i.reporting.markdown_sections import section_lines
from pytest_t2i.reporting.terminal_sections import summary_lines
from pytest_t2i.sections import Album, Column, Picture, Section, Table

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


def test_pictures_of_a_section_are_those_of_its_albums(tmp_path):
    here = str(tmp_path / "a.png")
    album = Album("a", (Picture(here, "male"), Picture(None, "none")))
    section = Section("S", (TABLE, album))
    assert pictures_in([section]) == [here]
    pictures = drawn([section], tmp_path)[0].blocks[1].content["pictures"]
    assert [p.absent for p in pictures] == ["file gone or unreadable", "no picture"]
