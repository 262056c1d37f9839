"""The words of a prompt: all of them, for attention; its nouns, for dependency groups (Wu)."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

from pytest_t2i.errors import MissingExtraError
from pytest_t2i.prompts.grammar import PLURAL_ONLY

WORD = re.compile(r"[A-Za-z]+")
PEOPLE = {"people": "person", "women": "woman", "men": "man"}
"""Words for humans that Wu keeps apart from other nouns -> their singular."""


def attention_words(prompt: str) -> tuple[str, ...]:
    """Words that attention is kept of: each once, in lower case, in order.

    >>> attention_words("A person and a person's dog")
    ('a', 'person', 'and', 's', 'dog')
    """
    return tuple(dict.fromkeys(word.lower() for word in WORD.findall(prompt)))


@lru_cache(maxsize=4096)
def nouns(prompt: str) -> tuple[tuple[str, str], ...]:
    """The nouns of a prompt as (lemma, word as it stands in lower case), each once.

    Which words are nouns is told by TextBlob's tagger, its lemma by LemmInflect: both bring their
    word lists with them.

    Raises:
        MissingExtraError: a library is not installed.

    >>> nouns("young women having a picnic at the park in the evening")[:2]
    (('woman', 'women'), ('picnic', 'picnic'))
    """
    tag, _ = _libraries()
    pairs: dict[str, str] = {}
    for word, kind in _tagged(tag, prompt):
        if kind.startswith("NN") and WORD.fullmatch(word):
            pairs.setdefault(lemma(word), word.lower())
    return tuple(pairs.items())


def _tagged(tag: Any, prompt: str) -> list[tuple[str, str]]:
    with warnings.catch_warnings():
        # TextBlob leaves its word list open; under -W error that would fail a user's run.
        warnings.simplefilter("ignore")
        return list(tag(prompt, tokenize=True))


@lru_cache(maxsize=4096)
def lemma(word: str) -> str:
    """The singular of a noun, in lower case; of an object's name its last word's.

    >>> lemma("Kites"), lemma("people"), lemma("baseball bats"), lemma("sun glasses")
    ('kite', 'person', 'baseball bat', 'sun glasses')
    """
    _, lemmatize = _libraries()
    if PLURAL_ONLY.search(word):
        return word.lower()
    *before, last = word.lower().split() or [""]
    single = PEOPLE.get(last) or lemmatize(last, upos="NOUN")[0]
    return " ".join([*before, single])


def _libraries() -> tuple[Any, Any]:
    try:
        from lemminflect import getLemma
        from textblob.en import tag
    except ModuleNotFoundError as error:
        raise MissingExtraError("nouns of prompts", "nouns", error.name or "textblob") from None
    return tag, getLemma
