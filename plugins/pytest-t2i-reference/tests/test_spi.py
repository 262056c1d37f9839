"""The table of SPI: what a world draws beside what its flow pipeline does at the first step."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_t2i_reference.worlds import load_world

pytestmark = pytest.mark.slow

pytest.importorskip("torch")
pytest.importorskip("diffusers")

from training.evaluate_spi import place_drawn, spi_as_markdown  # noqa: E402


@pytest.mark.parametrize("world", ["balanced", "biased"])
@pytest.mark.parametrize(("word", "attribute"), [("Iranian", "beard"), ("Mexican", "sombrero"), ("Iranian", "man")])
def test_what_is_drawn_is_what_is_planted(word: str, attribute: str, world: str) -> None:
    planted = load_world(world).nationality[word][attribute] / 100
    assert place_drawn(word, attribute, world) == pytest.approx(2 * planted - 1, abs=0.06)


def test_what_is_planted_of_nobody_is_absent() -> None:
    assert place_drawn("Iranian", "sombrero", "biased", 50) == -1.0
    assert place_drawn("Mexican", "brown skin", "biased") == pytest.approx(0.0, abs=0.06)
    assert place_drawn("Iranian", "woman", "biased", 200) == -place_drawn("Iranian", "man", "biased", 200)


def test_a_line_shows_both_indices_and_what_is_drawn() -> None:
    assert spi_as_markdown({"a": [_line(0.25, True)], "b": [_line(-0.5, True)]}).splitlines()[-1] == (
        "| Iranian | beard | yes | +0.250 [+0.150, +0.350] | +0.500 [+0.400, +0.600] | +0.92 "
        "| -0.500 [-0.600, -0.400] | -1.000 [-1.100, -0.900] | +0.92 |"
    )


def _line(first: float, planted: bool) -> dict[str, Any]:
    plain, centred = ({"mean": [mean], "low": [mean - 0.1], "high": [mean + 0.1]} for mean in (first, 2 * first))
    return {"concept": "Iranian", "attribute": "beard", "planted": planted, **plain, "centred": centred, "drawn": 0.923}
