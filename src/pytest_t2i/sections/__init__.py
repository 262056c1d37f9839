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
    Note,
    Paragraph,
    Picture,
    Section,
    Table,
    round_end,
)
from pytest_t2i.sections.curves import CurveChart
from pytest_t2i.sections.level import Form
from pytest_t2i.sections.overlays import Overlay, Overlays
from pytest_t2i.sections.planes import Axis, Plane, Point
from pytest_t2i.sections.scales import half_width

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
    "Section",
    "Table",
    "half_width",
    "round_end",
]
