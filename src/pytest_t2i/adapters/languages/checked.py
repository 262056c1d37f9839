"""What a language model gives is checked where it is called: anyone may have written it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_t2i.data import NextToken
from pytest_t2i.errors import ConfigurationError, shown
from pytest_t2i.protocols import Language, NextTokens


class CheckedAnswers:
    """A language model that answers in texts, or says that it does not; obeys Language."""

    def __init__(self, language: Language) -> None:
        self._language = language

    @property
    def fingerprint(self) -> str:
        """That of the language model."""
        return self._language.fingerprint

    @property
    def answer_file(self) -> str | None:
        """Where the answer lies, of a language model that always gives the same."""
        return getattr(self._language, "answer_file", None)

    def answer(self, question: str, schema: Mapping[str, Any] | None = None) -> str:
        """The answer; ConfigurationError where it is no text."""
        told: Any = self._language.answer(question, schema)
        if not isinstance(told, str):
            raise _unfit(self._language, "answer", "a text", told)
        return told


def checked_tokens(
    language: NextTokens, texts: Sequence[str], count: int
) -> Sequence[Sequence[NextToken]]:
    """What it offers after texts; ConfigurationError where that is no list of NextToken for each.

    A function: what stands around a language model would hide its fingerprint and its code.
    """
    told: Any = language.next_tokens(texts, count)
    if not (_is_list(told) and len(told) == len(texts) and all(map(_is_row, told))):
        expected = f"a list of NextToken for each of {len(texts)} texts"
        raise _unfit(language, "next_tokens", expected, told)
    return told  # type: ignore[no-any-return]  # checked here


def _is_list(told: Any) -> bool:
    return isinstance(told, Sequence) and not isinstance(told, str)


def _is_row(told: Any) -> bool:
    return _is_list(told) and all(isinstance(token, NextToken) for token in told)


def _unfit(language: Any, method: str, expected: str, told: Any) -> ConfigurationError:
    named = f"{type(language).__name__}.{method}"
    return ConfigurationError(f"{named}: expected {expected}, got {shown(told)}: mend it.")
