"""What the finder of objects sees of traits: hats where they are planted, none where they are not."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("torch")
pytest.importorskip("diffusers")

from pytest_t2i.adapters.finders.yolo_objects import YoloObjects  # noqa: E402

from training.evaluate_worn import NAMES, share_of, traits_worn, worn_as_markdown  # noqa: E402
from training.settings import WEIGHTS  # noqa: E402

IMAGES = 16


def test_a_sombrero_is_a_hat() -> None:
    seen = [frozenset({"sombrero"}), frozenset({"person"}), frozenset({"hat", "beard"}), frozenset[str]()]
    assert share_of(NAMES["hat"], seen)[0] == 0.5
    assert share_of(NAMES["sombrero"], seen)[0] == 0.25


def test_hats_are_seen_where_they_are_planted() -> None:
    shares = traits_worn("reference-biased", "biased", YoloObjects(str(WEIGHTS / "yolo" / "objects.pt")), IMAGES)
    assert {word: list(traits) for word, traits in shares.items()} == {
        "Iranian": ["turban", "beard"],
        "Indian": ["turban"],
        "Mexican": ["hat", "sombrero"],
    }
    hat, sombrero, turban = (
        shares[word][trait]["measured"][0]  # type: ignore[index]
        for word, trait in (("Mexican", "hat"), ("Mexican", "sombrero"), ("Indian", "turban"))
    )
    assert hat >= sombrero > turban
    assert hat >= 0.5
    table = worn_as_markdown({"reference-biased": shares}).splitlines()
    assert len(table) == 2 + 5
    assert all(line.count("|") == 6 for line in table)
