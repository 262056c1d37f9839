"""Words that a language model or a service adds to prompts: counterparts and what they name."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pytest_t2i.data import Prompt, Variant
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.prompts.axes import builtin_axes
from pytest_t2i.prompts.captions import NO_PLURAL, plural, triplet
from pytest_t2i.read_files import read_toml

Pair = tuple[str, str]
"""The feminine and the masculine text."""


@cache
def _gender_words() -> frozenset[str]:
    """Return the words that name a gender (Wu Table 2, row 1), in lower case with plurals."""
    table = read_toml(Path(str(files("pytest_t2i.prompts") / "words" / "human_words.toml")))
    words = frozenset(word.lower() for word in table["gender"])
    return words | {plural(word) for word in words - NO_PLURAL}


def names_gender(text: str) -> bool:
    """Return whether a text says which gender a person has.

    >>> names_gender("a photo of two women"), names_gender("a photo of a person")
    (True, False)
    """
    return not _gender_words().isdisjoint(re.findall(r"[a-z]+", text.lower()))


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
    neutral, feminine, masculine = (
        axis.variant(prompt.concept, variant).text for variant in Variant
    )
    return (feminine, masculine) if neutral == prompt.text else None


Kind = Literal["gender", "age", "ethnicity"]
KINDS: tuple[Kind, ...] = ("gender", "age", "ethnicity")
"""What a word can say about a person."""
FILE = Path(str(files("pytest_t2i.prompts") / "words" / "added_words.toml"))
HUMANS = FILE.with_name("human_words.toml")
WORD = re.compile(r"[^\W_]+")
AHEAD = 2
"""How many words after "old" or "black" the person may stand: "a black female nurse"."""


def is_rewritten(prompt: str, drawn: str) -> bool:
    """Return whether a text differs from the prompt in more than spaces and capitals.

    >>> is_rewritten("a photo of a nurse", "A photo  of a nurse")
    False
    >>> is_rewritten("a photo of a nurse", "a photo of a smiling nurse")
    True
    """
    return prompt.casefold().split() != drawn.casefold().split()


def words_of(kind: Kind, text: str, people: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the words of a text that say which gender, age or ethnicity a person has.

    >>> sorted(words_of("gender", "a photo of two women and a nurse"))
    ['women']
    >>> sorted(words_of("age", "an old woman in her 40s at an old library"))
    ['40s', 'old']
    >>> words_of("ethnicity", "a black female nurse"), words_of("ethnicity", "a black coat")
    (frozenset({'black'}), frozenset())
    """
    tokens = tuple(_tokens(text))
    phrases = {phrase for phrase in _phrases(kind) if _holds(tokens, phrase)}
    words = {" ".join(phrase) for phrase in phrases}
    return frozenset(words | (_of_people(kind) & set(_before_people(tokens, people))))


def added_words(prompt: str, drawn: str) -> frozenset[str]:
    """Return the words of the drawn text that the prompt does not have, in lower case.

    >>> sorted(added_words("a photo of a nurse", "A photo of a smiling woman, a nurse"))
    ['smiling', 'woman']
    """
    return frozenset(_tokens(drawn)) - frozenset(_tokens(prompt))


def _tokens(text: str) -> list[str]:
    """Return the words in lower case; hyphens and apostrophes separate words."""
    return WORD.findall(text.casefold())


def _holds(tokens: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    if len(phrase) == 1:
        return phrase[0] in tokens
    size = len(phrase)
    return any(tokens[k : k + size] == phrase for k in range(len(tokens) - size + 1))


def _before_people(tokens: tuple[str, ...], more: frozenset[str]) -> list[str]:
    """Return the words that are followed by a person within ``AHEAD`` words."""
    people = _people() | more
    return [
        word
        for k, word in enumerate(tokens)
        if not people.isdisjoint(tokens[k + 1 : k + 1 + AHEAD])
    ]


@cache
def _phrases(kind: Kind) -> frozenset[tuple[str, ...]]:
    """Return the words of a kind, each as a tuple of tokens."""
    words = set(read_toml(FILE)[kind]["words"])
    if kind == "gender":
        words |= _gender_words()
    elif kind == "ethnicity":
        words |= set(read_toml(HUMANS)["geography"])
    return frozenset(tuple(_tokens(word)) for word in words)


@cache
def _of_people(kind: Kind) -> frozenset[str]:
    return frozenset(read_toml(FILE)[kind].get("of_people", ()))


@cache
def _people() -> frozenset[str]:
    singles = {p[0] for kind in KINDS for p in _phrases(kind) if len(p) == 1}
    return frozenset(read_toml(FILE)["people"]) | singles
