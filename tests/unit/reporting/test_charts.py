"""Positions of charts, and the words beside them."""

from __future__ import annotations

import pytest

from pytest_t2i.data import Outcome
from pytest_t2i.reporting import charts, formatting, verdict_section
from pytest_t2i.reporting.charts import DIVERGING, UNIT, Group, Scale, Track
from pytest_t2i.sections.blocks import worst


@pytest.mark.parametrize(
    ("scale", "value", "place"),
    [(DIVERGING, -1, 0), (DIVERGING, 0, 50), (DIVERGING, 2, 100), (UNIT, 0.25, 25)],
)
def test_a_scale_keeps_values_inside(scale, value, place):
    assert scale.at(value) == place


def test_a_span_begins_at_its_left_end():
    assert Scale(-1, 1).span(0, -0.5) == (25.0, 25.0)


def test_prompts_go_from_male_to_female_and_those_without_a_score_come_last(record):
    (group,) = charts.bias_groups(record)
    assert [row.name for row in group.rows] == ["pilot", "nurse", "chef"]
    assert [row.value for row in group.rows] == ["+1.00", "\u22120.33", "no clear image"]
    assert [row.track.kind for row in group.rows] == ["male", "female", "plain"]
    assert group.rows[0].outcome is Outcome.FAIL
    assert group.rows[0].track.limits == (20.0, 80.0)
    assert group.note == "1 mostly male, 1 mostly female, 1 without a clear image"


def test_columns_are_of_about_the_same_height():
    rows = (charts.ChartRow("", Track(""), ""),)
    groups = [Group(str(n), rows * n) for n in (10, 30, 40, 10, 10)]
    left, right = charts.two_columns(groups)
    assert [len(entry.rows) for entry in left] == [40, 10]
    assert [len(entry.rows) for entry in right] == [30, 10, 10]
    assert charts.two_columns(groups[:1]) == [groups[:1]]


def test_the_worst_outcome_is_shown(record):
    assert worst(record.checks) is Outcome.FAIL


def test_checks_are_grouped_by_what_was_allowed(record):
    groups = verdict_section.check_groups(record, Outcome.FAIL)
    assert [(group.metric, group.allowed) for group in groups] == [
        ("model bias score", "\u2264 0.2"),
        ("prompt bias score", "\u2264 0.6"),
    ]


@pytest.mark.parametrize(
    ("value", "text"), [(0.851, "+0.85"), (-0.5, "\u22120.50"), (-0.001, "0.00"), (0.0, "0.00")]
)
def test_signs(value, text):
    assert formatting.signed(value) == text


def test_times():
    assert formatting.moment("2026-11-20T17:07:52+00:00") == "2026-11-20 17:07 UTC"
    assert formatting.moment("some day") == "some day"
    assert formatting.duration(208.8) == "3 min 29 s"
    assert formatting.duration(2.4) == "2 s"
