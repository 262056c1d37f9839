"""The plane of stereotype score and variety: where names stand."""

from __future__ import annotations

from itertools import combinations

import pytest

from pytest_t2i.reporting.planes import CORNER, Point, _mark_of, _name_of, _named


def points(*places):
    return [Point(f"attribute {k}", "", x, y, (x, x), (y, y)) for k, (x, y) in enumerate(places)]


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
    named = _named(points(*places))
    assert [point.name for point in named] == [f"attribute {k}" for k in range(len(places))]
    names = [(point, _name_of(point, point.place)) for point in named if point.place]
    assert names
    for (_, one), (_, other) in combinations(names, 2):
        assert not one.meets(other)
    for point, name in names:
        assert not name.meets(CORNER)
        others = [_mark_of(other) for other in named if _mark_of(other) != _mark_of(point)]
        assert not any(name.meets(mark) for mark in others)


def test_the_highest_score_is_named_first():
    low, high = _named(points((50.0, 53.0), (50.0, 50.0)))
    assert high.place is not None
    assert low.place != high.place


def test_points_with_room_are_all_named():
    named = _named(points((10.0, 20.0), (10.0, 60.0), (70.0, 20.0)))
    assert all(point.place for point in named)
