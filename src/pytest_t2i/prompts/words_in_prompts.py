"""The words of a prompt, for attention maps, and its nouns, for dependency groups (Wu)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pytest_t2i.errors import MissingExtraError
from pytest_t2i.prompts.grammar import PLURAL_ONLY

WORD = re.compile(r"[A-Za-z]+")
ENDS = re.compile(r"IN|CC|TO|MD|W.*|VB[DPZ]|[^A-Z].*")
"""The tags of words that cannot continue a noun phrase after "a" or "an"."""
JOINTS = ("CC", ",")
ADJOINED = ("JJ", "NN", "VBN")
"""The tags of joints within a noun phrase, and of the words after them: "a red and black cup"."""
NO_NOUNS = frozenset(("close", "few", "little"))
PEOPLE = {"people": "person", "women": "woman", "men": "man"}
"""Plural word for humans -> singular; Wu keeps these words apart from other nouns."""


def attention_words(prompt: str) -> tuple[str, ...]:
    """Return the words whose attention maps are kept: each once, in lower case, in order.

    >>> attention_words("A person and a person's dog")
    ('a', 'person', 'and', 's', 'dog')
    """
    return tuple(dict.fromkeys(word.lower() for word in WORD.findall(prompt)))


@lru_cache(maxsize=4096)
def nouns(prompt: str) -> tuple[tuple[str, str], ...]:
    """Return the nouns of a prompt as (lemma, word of the prompt in lower case), each once.

    TextBlob's tagger finds the nouns, LemmInflect their lemmas; both include their word lists.
    Where the tagger finds no noun after "a" or "an", the last word of the phrase is taken.

    Raises:
        MissingExtraError: a library is not installed.

    >>> nouns("young women having a picnic at the park in the evening")[:2]
    (('woman', 'women'), ('picnic', 'picnic'))
    >>> [word for word, _ in nouns("a man with a cleaner and a wrench")]
    ['man', 'cleaner', 'wrench']
    """
    tag, _ = _libraries()
    pairs: dict[str, str] = {}
    tagged = _tagged(tag, prompt)
    for place, (word, kind) in enumerate(tagged):
        if WORD.fullmatch(word) and (kind.startswith("NN") or _is_a_thing(tagged, place)):
            pairs.setdefault(lemma(word), word.lower())
    return tuple(pairs.items())


def _is_a_thing(tagged: Sequence[tuple[str, str]], place: int) -> bool:
    """Return whether a word must be a noun, as "a" or "an" before it has no other noun.

    The tagger takes "cleaner" in "with a cleaner" for an adjective, and "wrench" for a verb.
    """
    word, kind = tagged[place]
    after = tagged[place + 1 : place + 3]
    goes_on = after and not ENDS.fullmatch(after[0][1])
    joined = len(after) > 1 and after[0][1] in JOINTS and after[1][1].startswith(ADJOINED)
    if goes_on or joined or kind[:2] not in ("JJ", "VB") or word.lower() in NO_NOUNS:
        return False
    for earlier, its_kind in reversed(tagged[:place]):
        if earlier.lower() in ("a", "an"):
            return True
        if its_kind[:2] not in ("JJ", "RB", "CD") or earlier.lower() in NO_NOUNS:
            return False
    return False


def _tagged(tag: Any, prompt: str) -> list[tuple[str, str]]:
    with warnings.catch_warnings():
        # TextBlob does not close its word list; with -W error, the warning would fail a run.
        warnings.simplefilter("ignore")
        return list(tag(prompt, tokenize=True))


@lru_cache(maxsize=4096)
def lemma(word: str) -> str:
    """Return the singular of a noun in lower case; of several words, the last is changed.

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
