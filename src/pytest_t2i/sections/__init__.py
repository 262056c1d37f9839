"""What a report is made of: sections of blocks, as data. Renderers turn them into pages.

An audit says what it has to show with these classes alone; HTML, Markdown and the terminal render
each class once.

>>> from pytest_t2i import sections
>>> sections.Section("Simpson", (sections.Paragraph("Nothing was measured."),)).anchor
'simpson'
"""

from __future__ import annotations

from pytest_t2i.sections.blocks import (
    Album,
    Bar,
    BarChart,
    Block,
    Cell,
    Column,
    Form,
    Note,
    Paragraph,
    Picture,
    Section,
    Table,
    round_end,
)

__all__ = [
    "Album",
    "Bar",
    "BarChart",
    "Block",
    "Cell",
    "Column",
    "Form",
    "Note",
    "Paragraph",
    "Picture",
    "Section",
    "Table",
    "round_end",
]
