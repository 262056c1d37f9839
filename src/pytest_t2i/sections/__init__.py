"""The contents of reports as data: sections of blocks, which renderers turn into pages.

Audits describe their results with these classes alone; the renderers of HTML, Markdown and the
terminal implement each class once.

>>> from pytest_t2i import sections
>>> sections.Section("Simpson", (sections.Paragraph("Nothing was measured."),)).anchor
'simpson'
"""

from __future__ import annotations

from pytest_t2i.sections.blocks import (
    Album,
    Axis,
    Bar,
    BarChart,
    Block,
    Cell,
    Column,
    CurveChart,
    Form,
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
    Tint,
    half_width,
    round_end,
)

__all__ = [
    "Album",
    "Axis",
    "Bar",
    "BarChart",
    "Block",
    "Cell",
    "Column",
    "CurveChart",
    "Form",
    "Note",
    "Overlay",
    "Overlays",
    "Paragraph",
    "Picture",
    "Plane",
    "Point",
    "RowChart",
    "Section",
    "Table",
    "Tint",
    "half_width",
    "round_end",
]
