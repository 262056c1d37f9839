"""Rows are written as plain numbers, whatever library an audit computed them with."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from filled import filled_run

from pytest_t2i.data import Interval, Row
from pytest_t2i.runs.record.record import AuditRecord


def written(row):
    record = replace(filled_run(), audits={"mine": AuditRecord(rows=(row,))})
    return json.loads(record.to_json())["audits"]["mine"]["rows"][0]


@pytest.mark.parametrize(
    ("number", "plain"),
    [(np.float64(0.25), 0.25), (np.float32(0.25), 0.25), (np.int64(3), 3), (np.bool_(1), True)],
)
def test_numbers_of_numpy_are_written_as_pythons(number, plain):
    row = Row("gap", "model", "model", 0.25, {"step": number}, {"p_value": number})
    kept = written(row)
    assert kept["dims"] == {"step": plain}
    assert kept["facts"] == {"p_value": plain}


def test_an_interval_of_numpy_numbers_is_written():
    low, high = np.float64(0.1), np.float64(0.4)
    kept = written(Row("gap", "model", "model", Interval(np.float64(0.2), low, high, 0.9, "t", 9)))
    assert (kept["value"]["low"], kept["value"]["high"]) == (0.1, 0.4)


def test_what_is_no_plain_value_is_named():
    with pytest.raises(NotImplementedError, match=r"run\.json holds plain values, got object"):
        written(Row("gap", "model", "model", 0.2, {}, {"odd": object()}))
