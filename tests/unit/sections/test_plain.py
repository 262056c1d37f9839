"""Sections as plain data: there and back, and what a stranger's file may not hold."""

from __future__ import annotations

import json

import pytest

from pytest_t2i.data import Interval, Mask, Outcome, Request
from pytest_t2i.sections import (
    Album,
    Axis,
    Bar,
    BarChart,
    CurveChart,
    Note,
    Overlay,
    Overlays,
    Paragraph,
    Picture,
    Plane,
    Point,
    Section,
    Table,
    Tint,
)
from pytest_t2i.sections.plain import plain_section, section_of

SHARE = Interval(0.5, 0.25, 0.75, 0.9, "student", 8)
WHOLE = Mask(1, 2, (0, 2))
SECTION = Section(
    "Why",
    (
        Paragraph("The unet.", "summary", Outcome.FAIL),
        Note("Seed by seed."),
        Table("Shares", ("part", "share", "of"), (("unet", SHARE, 3), ("vae", None, Tint("a")))),
        BarChart("Growth", (Bar("unet", SHARE, limits=(0.2,)),), 0.0, 1.0, columns=()),
        CurveChart("Steps", (0.1, 0.2), -1, 1, band=((0.0, 0.1), (0.2, 0.3))),
        Album("Seen", (Picture("a.png", "male"), Picture(None, "male", labelled="b.png"))),
        Overlays((Overlay("a.png", WHOLE, WHOLE, ("tie",), "a tie"),)),
        Plane("Both", Axis("x", 0, 1), Axis("y", 0, 1), (Point("a", SHARE, SHARE, sign="A"),)),
    ),
)


def test_a_section_comes_back_as_it_was():
    plain = json.loads(json.dumps(plain_section(SECTION)))
    assert section_of(plain) == SECTION


def test_what_is_no_block_is_refused():
    with pytest.raises(ValueError, match="got Request"):
        plain_section(Section("Seen", (Request("a nurse", 1),)))


@pytest.mark.parametrize(
    ("plain", "problem"),
    [
        ([], "expected Section, got a list of 0"),
        ("Why", "expected Section, got 'Why'"),
        ({"is": "Section", "title": "a"}, "missing 1 required"),
        ({"is": "Section", "title": 1, "blocks": []}, "expected str, got 1"),
        ({"is": "Section", "title": "a", "blocks": [{"is": "Film", "title": "a"}]}, "got 'Film'"),
        ({"is": "Section", "title": "a", "blocks": [{"is": "Section", "title": "b"}]}, "'Section'"),
        ({"is": "Section", "title": "a", "blocks": [], "file": "/etc/passwd"}, "unknown keys"),
        ({"is": ["Section"], "title": "a"}, "expected Section"),
        (
            {"is": "Section", "title": "a", "blocks": [{"is": "Note", "text": "a", "level": "x"}]},
            "Literal",
        ),
        (
            {
                "is": "Section",
                "title": "a",
                "blocks": [{"is": "Table", "caption": "a", "columns": ["a"], "rows": [["a", "b"]]}],
            },
            "expected 1 cells in every row",
        ),
    ],
)
def test_what_is_no_section_is_said(plain, problem):
    with pytest.raises(ValueError, match=problem):
        section_of(plain)
