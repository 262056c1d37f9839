"""The comparison of two records finds what differs, and passes over when a run was made."""

from __future__ import annotations

import json

import pytest
from trials import compare_runs

from pytest_t2i import RunRecord


@pytest.fixture
def folders(tmp_path):
    """The same run twice, at different times."""
    made = []
    for name, created in (
        ("before", "2026-11-21T10:00:00+00:00"),
        ("after", "2026-11-22T11:00:00+00:00"),
    ):
        record = RunRecord(created, 12.5, "mine", {"seed": 0}, {"images": 4}, {"python": "3"})
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(record.to_json())
        (tmp_path / name / "index.html").write_text(
            "<p>0.250 and \u22120.125</p><style>0.5</style>"
        )
        made.append(tmp_path / name)
    return made


def test_equal_records_are_equal(folders, capsys):
    assert compare_runs.main(*folders) == 0
    told = capsys.readouterr().out
    assert "0 differ" in told
    assert "page: 2 different numbers before, 2 after; no longer shown: none" in told


def test_a_number_that_differs_is_named(folders, capsys):
    file = folders[1] / "run.json"
    plain = json.loads(file.read_text())
    plain["model"] = "another"
    file.write_text(json.dumps(plain))
    (folders[1] / "index.html").write_text("<p>0.250</p>")
    assert compare_runs.main(*folders) == 1
    told = capsys.readouterr().out
    assert "model: 'mine' -> 'another'" in told
    assert "no longer shown: -0.125" in told


def test_rounding_in_the_order_of_a_sum_is_no_difference():
    assert compare_runs.is_same(0.1 + 0.2, 0.3)
    assert not compare_runs.is_same(0.3, 0.3000001)
    assert not compare_runs.is_same(0.3, None)


def test_entries_are_found_wherever_they_stand():
    from pytest_t2i.audits.parity.record import GroupPrompt

    one, other = (GroupPrompt(name, 4, {"a": 4}, None) for name in ("nurse", "pilot"))
    assert dict(compare_runs.leaves([one, other])) == dict(compare_runs.leaves([other, one]))
