"""What stage ``evaluate-spi`` runs: SPI of a flow pipeline's images of nationalities, written as one line of JSON each.

The attributes are those that are planted, two that play no part, and a planted one with its descriptions exchanged.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pytest_t2i import Attribute, axes

MAN = Attribute("man", "a photo of a man", "a photo of a woman")
ASKED = {
    "Iranian": (
        MAN,
        Attribute("old", "a photo of an old person", "a photo of a young person"),
        Attribute("beard", "a photo of a person with a beard", "a photo of a person without a beard"),
    ),
    "Mexican": (
        MAN,
        Attribute("moustache", "a photo of a person with a moustache", "a photo of a person without a moustache"),
        Attribute("sombrero", "a photo of a person wearing a sombrero", "a photo of a person without a sombrero"),
    ),
}
"""Nationality to what is planted of it."""
IDLE = (
    Attribute("earphone", "a photo of a person wearing an earphone", "a photo of a person without an earphone"),
    Attribute("smiling", "a photo of a smiling person", "a photo of a frowning person"),
)
"""Planted of nobody. Few wear an earphone, so nearly all pictures are as its negative description says; as many people
smile as frown, whoever they are."""
EXCHANGED = Attribute("woman", MAN.negative, MAN.positive)
EVERY = tuple(dict.fromkeys([*(each for asked in ASKED.values() for each in asked), *IDLE, EXCHANGED]))


@pytest.mark.t2i(axes.nationality.only(*ASKED), attributes=list(EVERY), observe=["velocity"])
def test_spi(sample: Any) -> None:
    """Write down every attribute; exchanging descriptions turns the sign round, exactly."""
    for attribute in EVERY:
        emergence, centred = (sample.spi(attribute, center=center) for center in (False, True))
        line = {
            "concept": sample.prompt.concept,
            "attribute": attribute.name,
            "planted": attribute in ASKED[sample.prompt.concept],
            "mean": emergence.band.mean,
            "low": emergence.band.low,
            "high": emergence.band.high,
            "centred": {"mean": centred.band.mean, "low": centred.band.low, "high": centred.band.high},
            "images": emergence.band.n,
        }
        with Path(os.environ["SPI_LINES"]).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")
    there, back = (sample.spi(attribute).curves for attribute in (MAN, EXCHANGED))
    assert (there == -back).all()
