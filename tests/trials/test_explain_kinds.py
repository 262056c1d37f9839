"""One real case: a text encoder of the reference model that reads "person" as "man"."""

from __future__ import annotations

import explain_kinds
import explain_plants
import pytest

pytestmark = pytest.mark.slow


def test_a_text_encoder_is_named_and_its_places(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kind = next(each for each in explain_kinds.KINDS if each.name == "text encoder")
    explain_plants.write(tmp_path)
    explain_plants.make(tmp_path, kind.plant)
    case = explain_kinds.tried(kind, 1, tmp_path, {})
    (effect,) = case["explanation"]["named"]
    assert effect["components"] == ["text_encoder"]
    places = {place["place"]: place["state"] for place in case["explanation"]["places"]}
    assert explain_kinds.CHANGES[places["prompt"]] == "changed"
    assert places["image"] == "moved"
