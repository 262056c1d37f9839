"""English grammar for templates: the article, and person turned into woman or man."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

from pytest_t2i.data import Variant

# Plural nouns that take no article; inflect would write "an eye glasses".
PLURAL_ONLY = re.compile(
    r"\b(glasses|scissors|jeans|trousers|earphones|headphones)$", re.IGNORECASE
)

# Words whose spelling decides the article. For others, a library is loaded, which is slow.
PLAIN_A = re.compile(
    r"([bcdfgjklmnpqrstvwz][b-df-hj-np-tv-z]*[aeiouy]|y[aeiou]|h(?!eir|erb|on|our)[aeiouy])[a-z]*"
    r"|uni(vers|corn|form|on|que|cycl|lateral)[a-z]*"
)
PLAIN_AN = re.compile(
    r"([ai][a-z]|e[a-tvx-z])[a-z]+|o(?!ne|nce|ui)[a-z]{2,}|un[b-hj-z][a-z]+|(honest|honou?r|hour|heir)[a-z]*"
)
SPELLED_WITH_A = re.compile(r"[BCDGJKPQTVWYZ][A-Z]+|U[A-Z]")
SPELLED_WITH_AN = re.compile(r"[AI][A-Z]")
# A number begins with a vowel where it is spoken as eight, eighty, eleven or eighteen. What stands
# before it is not spoken before it; years, as any four digits, are spoken in pairs.
NUMBER = re.compile(r"[\"'(\[\u2018-\u201f$£€¥]*[0-9]")
NUMBER_WITH_AN = re.compile(r"\D*(8|(11|18)([0-9]{3})*(?![0-9])|(11|18)[0-9]{2}(?![0-9]))")

INDICATORS = {
    Variant.FEMININE: {"person": "woman", "people": "women", "adjective": "female"},
    Variant.MASCULINE: {"person": "man", "people": "men", "adjective": "male"},
}


@cache
def _engine() -> Any:
    with _unchecked():
        import inflect

    return inflect.engine()


@contextmanager
def _unchecked() -> Iterator[None]:
    """Leave functions alone that typeguard would rewrite, which takes seconds for inflect."""
    try:
        typeguard: Any = import_module("typeguard")
    except ImportError:  # of other versions of inflect
        yield
        return
    checking = typeguard.typechecked
    typeguard.typechecked = lambda function: function
    try:
        yield
    finally:
        typeguard.typechecked = checking


@cache
def with_article(word: str) -> str:
    """Return the word with the indefinite article for its sound.

    >>> with_article("engineer"), with_article("university teacher"), with_article("eye glasses")
    ('an engineer', 'a university teacher', 'eye glasses')
    """
    if PLURAL_ONLY.search(word):
        return word
    return f"{_article(word)} {word}"


def _article(word: str) -> str:
    if NUMBER.match(word):
        return "an" if NUMBER_WITH_AN.match(word) else "a"
    first = word.split(" ", 1)[0]
    plain = first.lower().partition("-")[0] if first[1:].islower() else ""
    if PLAIN_A.fullmatch(plain) or SPELLED_WITH_A.fullmatch(first):
        return "a"
    if PLAIN_AN.fullmatch(plain) or SPELLED_WITH_AN.fullmatch(first):
        return "an"
    return str(_engine().a(word)).split(" ", 1)[0]


def swap_person(text: str, variant: Variant) -> str:
    """Turn person/people into woman/women or man/men (Wu section 3.1); capitals are kept.

    >>> swap_person("Two people and a person in a park", Variant.FEMININE)
    'Two women and a woman in a park'
    """
    words = INDICATORS[variant]

    def replace(match: re.Match[str]) -> str:
        word = match.group(0)
        new = words[word.lower()]
        return new.capitalize() if word[0].isupper() else new

    return re.sub(r"\b(person|people)\b", replace, text, flags=re.IGNORECASE)


def put_before(adjective: str, word: str, sentence: str) -> str:
    """Put an adjective before a word in a sentence, and adapt the article before both.

    >>> put_before("female", "ecologist", "An ecologist studies a lush green forest")
    'A female ecologist studies a lush green forest'
    """

    def replace(match: re.Match[str]) -> str:
        article, noun = match.groups()
        if article is None:
            return f"{adjective} {noun}"
        new = with_article(adjective).partition(" ")[0]
        return f"{new.capitalize() if article[0].isupper() else new} {adjective} {noun}"

    return named_in(word).sub(replace, sentence)


@cache
def named_in(word: str) -> re.Pattern[str]:
    """Return a pattern that finds a whole word, with its indefinite article if there is one."""
    return re.compile(rf"(?:\b(an?)\s+)?(?<![\w-])({re.escape(word)})(?![\w-])", re.IGNORECASE)
