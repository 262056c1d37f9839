"""One real case: a text encoder of the reference model that reads "person" as "man"."""

from __future__ import annotations

import kinds
import plants
import pytest

pytestmark = pytest.mark.slow


def test_a_text_encoder_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kind = next(each for each in kinds.KINDS if each.name == "text encoder")
    plants.write(tmp_path)
    plants.make(tmp_path, kind.plant)
    case = kinds.tried(kind, 1, tmp_path, {})
    (effect,) = case["explanation"]["named"]
    assert effect["components"] == ["text_encoder"]
