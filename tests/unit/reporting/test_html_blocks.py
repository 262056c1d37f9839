"""Planes of points: where names stand, and the good corner."""

from __future__ import annotations

from itertools import combinations

import pytest

from pytest_t2i.data import Interval
from pytest_t2i.reporting.html_blocks import (
    Corner,
    DrawnPoint,
    PixelBox,
    draw,
    mark_of,
    name_box,
    place_names,
)
from pytest_t2i.sections import Axis, Plane, Point

CORNER = Corner(67, 67, 99, 98, "end")
SOME = Interval(0.25, 0.1, 0.5, 0.95, "", 9)


def points(*places):
    return [
        DrawnPoint(f"attribute {k}", "", x, y, (x, x), (y, y)) for k, (x, y) in enumerate(places)
    ]


@pytest.mark.parametrize(
    "places",
    [
        [(50.0, 50.0)] * 6,
        [(40.0 + 2 * k, 100.0) for k in range(9)],
        [(98.0, 2.0), (99.0, 97.0), (1.0, 1.0)],
        [(10.0 * (k % 10), 7.0 * k) for k in range(14)],
    ],
    ids=["one place", "all at the bottom", "corners", "spread"],
)
def test_no_name_lies_on_another_one_or_on_a_point(places):
    placed = place_names(points(*places), CORNER)
    assert [point.name for point in placed] == [f"attribute {k}" for k in range(len(places))]
    names = [(point, name_box(point, point.place)) for point in placed if point.place]
    assert names
    for (_, one), (_, other) in combinations(names, 2):
        assert not one.meets(other)
    for point, name in names:
        assert not name.meets(CORNER.box)
        others = [mark_of(other) for other in placed if mark_of(other) != mark_of(point)]
        assert not any(name.meets(mark) for mark in others)


def test_the_highest_score_is_named_first():
    low, high = place_names(points((50.0, 53.0), (50.0, 50.0)), None)
    assert high.place is not None
    assert low.place != high.place


def test_points_with_room_are_all_named():
    placed = place_names(points((10.0, 20.0), (10.0, 60.0), (70.0, 20.0)), CORNER)
    assert all(point.place for point in placed)


@pytest.mark.parametrize(
    ("x", "y", "where"),
    [
        ("high", "low", (67, 67)),
        ("low", "high", (0, 0)),
        ("low", "low", (0, 67)),
        ("", "low", None),
    ],
)
def test_the_good_corner_is_where_both_axes_are_better(tmp_path, x, y, where):
    plane = Plane("p", Axis("a", 0.0, 1.0, better=x), Axis("b", 0.0, 1.0, better=y), ())
    corner = draw(plane, tmp_path).content.corner
    assert (corner and corner[:2]) == where
    if corner:
        name = corner.box
        assert PixelBox(0, 0, 320, 260).meets(name)
        assert name.left >= 0
        assert name.right <= 320


def test_a_point_lies_where_its_scales_say_and_upwards_is_more(tmp_path):
    point = Point("hat", SOME, SOME, "sdxl", "A")
    plane = Plane("p", Axis("a", 0.0, 0.5), Axis("b", 0.0, 1.0, 2), (point,))
    (drawn,) = draw(plane, tmp_path).content.points
    assert (drawn.x, drawn.y, drawn.across, drawn.along) == (
        50.0,
        75.0,
        (20.0, 100.0),
        (50.0, 90.0),
    )
    assert drawn.label == "sdxl, hat: b 0.25 [0.10, 0.50], a 0.250 [0.100, 0.500]"


def test_a_plane_without_room_is_refused():
    with pytest.raises(ValueError, match="expected low < high"):
        Plane("p", Axis("a", 1.0, 1.0), Axis("b", 0.0, 1.0), ())
