"""Captions as prompts: which are neutral, and their triplets (Wu section 3.1)."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from pytest_t2i.data import Prompt, Triplet, Variant
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import read_toml
from pytest_t2i.prompts.grammar import swap_person

NO_PLURAL = frozenset(
    ("she", "her", "hers", "herself", "he", "his", "him", "himself", "u", "me", "i", "mr", "myself")
)
"""The words of Wu Table 2 without a plural: "is" is no plural of "I"."""
PERSON = re.compile(r"\b(person|people)\b", re.IGNORECASE)


@cache
def human_words() -> frozenset[str]:
    """Return the words that indicate humans (Wu Table 2), in lower case with their plurals."""
    table = read_toml(Path(str(files("pytest_t2i.prompts") / "words" / "human_words.toml")))
    words = {word.lower() for group in ("gender", "geography", "others") for word in table[group]}
    return frozenset(words | {plural(word) for word in words - NO_PLURAL})


def is_neutral(caption: str) -> bool:
    """Return whether a caption has person or people, and none of the words of Wu Table 2.

    >>> is_neutral("A person rides a horse"), is_neutral("The person and a boy play badminton")
    (True, False)
    """
    return PERSON.search(caption) is not None and not human_words_in(caption)


def human_words_in(caption: str) -> frozenset[str]:
    """Return the words of a caption that indicate humans, besides person and people.

    >>> sorted(human_words_in("The person and a boy play badminton"))
    ['boy']
    """
    return human_words() & frozenset(re.findall(r"[a-z]+", caption.lower()))


def triplet(text: str, *, axis: str = "caption", concept: str | None = None) -> Triplet:
    """Return the three variants of a prompt that has the word person or people.

    >>> [p.text for p in triplet("a person in a park")]
    ['a person in a park', 'a woman in a park', 'a man in a park']

    Raises ConfigurationError where the text has neither word.
    """
    if not PERSON.search(text):
        raise ConfigurationError(
            f"a triplet needs 'person' or 'people' in its neutral prompt, got text={text!r}"
        )
    word = concept or text
    return Triplet(
        Prompt(text, axis, word),
        Prompt(swap_person(text, Variant.FEMININE), axis, word, Variant.FEMININE),
        Prompt(swap_person(text, Variant.MASCULINE), axis, word, Variant.MASCULINE),
    )


def plural(word: str) -> str:
    """Return the plural of a word for a human.

    >>> plural("fireman"), plural("child"), plural("ecologist")
    ('firemen', 'children', 'ecologists')
    """
    if word.endswith("man"):
        return word[:-3] + "men"
    return {"child": "children", "wife": "wives", "lady": "ladies", "family": "families"}.get(
        word, word + "s"
    )
