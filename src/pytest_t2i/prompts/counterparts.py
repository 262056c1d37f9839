"""The feminine and the masculine text of a neutral prompt, and texts that name a gender."""

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
    """Words that tell a gender (the first row of Wu Table 2), in lower case with their plurals."""
    table = read_toml(Path(str(files("pytest_t2i.prompts") / "words" / "human_words.toml")))
    words = frozenset(word.lower() for word in table["gender"])
    return words | {plural(word) for word in words - NO_PLURAL}


def names_gender(text: str) -> bool:
    """Whether a text says of somebody which gender they have.

    >>> names_gender("a photo of two women"), names_gender("a photo of a person")
    (True, False)
    """
    return not gender_words().isdisjoint(re.findall(r"[a-z]+", text.lower()))


def counterparts(prompt: Prompt) -> Pair | None:
    """The texts of a neutral prompt's triplet; None where nothing in it can be made gendered.

    A prompt of a built-in axis has those of the axis, any other one names a person or people.

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
