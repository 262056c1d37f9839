"""Check the results of a language model, which any distribution may provide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_t2i.data import NextToken
from pytest_t2i.errors import ConfigurationError, shown
from pytest_t2i.protocols import Language, NextTokens


class CheckedAnswers:
    """A Language that wraps another one and checks that its answers are texts."""

    def __init__(self, language: Language) -> None:
        self._language = language

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the wrapped language model."""
        return self._language.fingerprint

    @property
    def answer_file(self) -> str | None:
        """File with the answer, of a language model that always gives the same; else None."""
        return getattr(self._language, "answer_file", None)

    def answer(self, question: str, schema: Mapping[str, Any] | None = None) -> str:
        """The answer; ConfigurationError for an answer that is no text."""
        text: Any = self._language.answer(question, schema)
        if not isinstance(text, str):
            raise _unfit(self._language, "answer", "a text", text)
        return text


def checked_tokens(
    language: NextTokens, texts: Sequence[str], count: int
) -> Sequence[Sequence[NextToken]]:
    """A language model's next tokens; ConfigurationError unless there is a list for each text.

    This is a function, as a wrapper would hide the language model's fingerprint and code.
    """
    rows: Any = language.next_tokens(texts, count)
    if not (_is_list(rows) and len(rows) == len(texts) and all(map(_is_row, rows))):
        expected = f"a list of NextToken for each of {len(texts)} texts"
        raise _unfit(language, "next_tokens", expected, rows)
    return rows  # type: ignore[no-any-return]  # checked here


def _is_list(answer: Any) -> bool:
    return isinstance(answer, Sequence) and not isinstance(answer, str)


def _is_row(answer: Any) -> bool:
    return _is_list(answer) and all(isinstance(token, NextToken) for token in answer)


def _unfit(language: Any, method: str, expected: str, answer: Any) -> ConfigurationError:
    full_name = f"{type(language).__name__}.{method}"
    return ConfigurationError(
        f"{full_name}: expected {expected}, got {shown(answer)}: correct its code."
    )
