"""A small size of the mutated records, and that the trial sees what it is for."""

from __future__ import annotations

import json

import pytest
import records
from tally import Tally

KINDS = {kind.name: kind for kind in records.kinds()}


@pytest.mark.parametrize("name", KINDS)
def test_a_valid_document_is_read_and_rendered(tmp_path, name):
    tally = Tally("", "")
    assert records.tried(KINDS[name], tmp_path, KINDS[name].text, tally) == ""
    assert tally.kinds == {f"{name} read and rendered": 1}


@pytest.mark.slow
def test_mutated_documents(tmp_path):
    tally = records.go(tmp_path, 150, seed=31)
    assert tally.faults == []
    assert tally.kinds["run read and rendered"] > 10
    assert tally.kinds["run refused"] > 10


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("checks", 0, "level"), 0),
        (("checks", 0, "level"), -1),
        (("checks", 0, "p_value"), 1.5),
        (("checks", 0, "n"), -1),
        (("checks", 0, "low"), 0.9),
        (("prompts", 0, "counts", "key", "labels", "male"), -1),
        (("created",), "yesterday"),
    ],
)
def test_the_trial_would_see_it(place, value):
    plain = json.loads(records.whole().to_json())
    assert list(records.impossible(plain)) == []
    assert list(records.impossible(records.replaced(plain, place, value)))
