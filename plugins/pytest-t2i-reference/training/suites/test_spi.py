"""What stage ``evaluate-spi`` runs: SPI of a flow pipeline's images of nationalities, written as one line of JSON each.

The attributes are those that are planted, two that play no part, and a planted one with its descriptions exchanged. All
descriptions name the nationality, as the prompt does.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pytest_t2i import Attribute, axes

PLANTED = {"Iranian": ("man", "old", "beard"), "Mexican": ("man", "moustache", "sombrero")}
"""Nationality to what is planted of it, with more than half of the people in ``reference-sd3-biased``."""
PHRASES = {
    "man": ("{} man", "{} woman"),
    "woman": ("{} woman", "{} man"),
    "old": ("old {} person", "young {} person"),
    "beard": ("{} person with a beard", "{} person without a beard"),
    "moustache": ("{} person with a moustache", "{} person without a moustache"),
    "sombrero": ("{} person wearing a sombrero", "{} person without a sombrero"),
    "earphone": ("{} person wearing an earphone", "{} person without an earphone"),
    "brown skin": ("brown skinned {} person", "tan skinned {} person"),
}
"""An earphone and brown skin are planted of nobody. Nobody of a nationality wears an earphone: they are as its
negative description says. Half of each have brown skin and half tan skin in either world."""


def described(word: str) -> dict[str, Attribute]:
    """Each attribute with descriptions that name a nationality."""
    texts = {
        name: [f"a photo of {_with_article(text.format(word))}" for text in pair] for name, pair in PHRASES.items()
    }
    return {name: Attribute(name, *pair) for name, pair in texts.items()}


def _with_article(text: str) -> str:
    return f"{'an' if text[0] in 'Io' else 'a'} {text}"


ATTRIBUTES = {word: described(word) for word in PLANTED}
EVERY = [attribute for named in ATTRIBUTES.values() for attribute in named.values()]


@pytest.mark.t2i(axes.nationality.only(*PLANTED), attributes=EVERY, observe=["velocity"])
def test_spi(sample: Any) -> None:
    """Write down every attribute; exchanging descriptions turns the sign round, exactly."""
    word = sample.prompt.concept
    for name, attribute in ATTRIBUTES[word].items():
        emergence, centred = (sample.spi(attribute, center=center) for center in (False, True))
        line = {
            "concept": word,
            "attribute": name,
            "planted": name in PLANTED[word],
            "mean": emergence.band.mean,
            "low": emergence.band.low,
            "high": emergence.band.high,
            "centred": {"mean": centred.band.mean, "low": centred.band.low, "high": centred.band.high},
            "images": emergence.band.n,
        }
        with Path(os.environ["SPI_LINES"]).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")
    for center in (False, True):
        there, back = (sample.spi(ATTRIBUTES[word][name], center=center).curves for name in ("man", "woman"))
        assert (there == -back).all()
