"""Feminine and masculine counterparts of a neutral prompt, and words that name a gender."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from pytest_t2i.data import Prompt, Variant
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.files import read_toml
from pytest_t2i.prompts.axes import builtin_axes
from pytest_t2i.prompts.captions import NO_PLURAL, plural, triplet

Pair = tuple[str, str]
"""The feminine and the masculine text."""


@cache
def gender_words() -> frozenset[str]:
    """Return the words that name a gender (Wu Table 2, row 1), in lower case with plurals."""
    table = read_toml(Path(str(files("pytest_t2i.prompts") / "words" / "human_words.toml")))
    words = frozenset(word.lower() for word in table["gender"])
    return words | {plural(word) for word in words - NO_PLURAL}


def names_gender(text: str) -> bool:
    """Return whether a text says which gender a person has.

    >>> names_gender("a photo of two women"), names_gender("a photo of a person")
    (True, False)
    """
    return not gender_words().isdisjoint(re.findall(r"[a-z]+", text.lower()))


def counterparts(prompt: Prompt) -> Pair | None:
    """Return the feminine and masculine texts of a neutral prompt's triplet, or None.

    A prompt of a built-in axis has the triplet of that axis. Any other prompt has one where it
    names a person or people.

    >>> counterparts(Prompt("a nurse at work", "wu.healthcare", "nurse"))
    ('a female nurse at work', 'a male nurse at work')
    >>> counterparts(Prompt("a person and a dog", "caption", ""))
    ('a woman and a dog', 'a man and a dog')
    >>> counterparts(Prompt("a red bus", "caption", "")) is None
    True
    """
    of_axis = _of_axis(prompt)
    if of_axis is not None:
        return of_axis
    try:
        three = triplet(prompt.text)
    except ConfigurationError:
        return None
    return three.feminine.text, three.masculine.text


def _of_axis(prompt: Prompt) -> Pair | None:
    try:
        axis = builtin_axes()[prompt.axis]
    except UnknownNameError:
        return None
    if prompt.concept not in axis.concepts:
        return None
    neutral, feminine, masculine = (axis.variant(prompt.concept, one).text for one in Variant)
    return (feminine, masculine) if neutral == prompt.text else None
