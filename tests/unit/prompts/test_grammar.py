"""The article before a word."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from pytest_t2i import axes
from pytest_t2i.data import Variant
from pytest_t2i.prompts import grammar

WORDS = (
    "ewe ewer euro eunuch hour honest heir herb homage honeymoon hotel house housekeeper hound "
    "umbrella unicorn usher user one oneself once iota apple aye engineer easel eye ear earl chef "
    "CEO MRI FBI NASA UFO US BBC X-ray yttrium youth yacht psychologist rhythm tsar gnome photo "
    "Iranian Indian Mexican Ukrainian European American Honduran Ethiopian Egyptian Ewan mp3 "
    "honest honour honorary hourglass heiress honey honk oncologist onion once one-way onerous "
    "ouija office ox oak outgoing operations orthopedic unreliable unable unanimous under uncle "
    "unionist uniform university universal unique unicycle unilateral unideal "
    "eco-tourism import-export e-mail T-shirt u-turn AI IT UN UK hour-long"
)


@pytest.mark.parametrize("word", WORDS.split())
@pytest.mark.slow
def test_short_cuts_say_what_inflect_says(word):
    assert grammar.with_article(word) == grammar._engine().a(word)


def test_letters_that_sound_like_you():
    """The rules of inflect write "an UI designer"."""
    assert grammar.with_article("UI designer") == "a UI designer"


AN = (
    "8 8-year-old 8th 8K 8.5 8:30 80s 80-year-old 83 800 8,000 8000 80000 11 11th 11-year-old 11/2 "
    "11,000 11000 11000000 18 18- 18+ 18th-century 18-year-old 18,500 18000 1150 1800s 1890 $8 £11 "
    "€80 '80s \u201980s \u201c8-bit\u201d (18+)"
)
A = (
    "1 1-year-old 1st 2 7-foot 9 10 12 17 19 20 70s 100 108 110 118 180 181 0.8 1.8 08 1,100 1,800 "
    "1900s 1980s 2008 1000 10000 110000 180,000 1100000 1800000 $1 #8 +8 -8"
)


@pytest.mark.parametrize(
    ("word", "article"), [*((w, "an") for w in AN.split()), *((w, "a") for w in A.split())]
)
def test_the_article_of_a_number_is_that_of_how_it_is_spoken(word, article):
    assert grammar.with_article(f"{word} singer") == f"{article} {word} singer"


def test_built_in_words_load_no_library(monkeypatch):
    def loaded():
        raise AssertionError("inflect was asked")

    monkeypatch.setattr(grammar, "_engine", loaded)
    grammar.with_article.cache_clear()
    for axis in [*axes, *axes.wu]:
        for variant in Variant:
            texts = [axis.variant(word, variant).text for word in axis.concepts]
            assert all("{" not in text for text in texts)


def test_inflect_is_loaded_without_checks_of_types(monkeypatch):
    seen = []
    typeguard = SimpleNamespace(typechecked=seen.append)
    checking = typeguard.typechecked
    monkeypatch.setitem(sys.modules, "typeguard", typeguard)
    with grammar._unchecked():
        assert typeguard.typechecked(len) is len
    assert (typeguard.typechecked, seen) == (checking, [])
    monkeypatch.setitem(sys.modules, "typeguard", None)
    with grammar._unchecked():
        assert sys.modules["typeguard"] is None
