"""Language models by their names, and the check of what they return.

Any distribution may provide one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_t2i import (
    AnswerLimits,
    Language,
    LoadOptions,
    NextToken,
    NextTokens,
    Observations,
    T2IError,
    load_language,
)

ANSWERING = (
    "openai:MODEL (OPENAI_API_KEY, OPENAI_BASE_URL), transformers:FOLDER or hub id, file:FILE, or "
    "module:factory[:SOURCE]"
)
"""Values of ``--llm`` for language models that answer questions."""
CONTINUING = "transformers:FOLDER or hub id, or module:factory[:SOURCE] of one with next_tokens"
"""Values of ``--llm`` for language models that continue texts."""
ANSWERING_ONLY = ("openai", "file")
"""Adapters that cannot continue texts, which is reported without a look at their source."""
SHOWN = 80
"""The largest number of characters of a value in a message."""


def answering(name: str, limits: AnswerLimits) -> Language:
    """Load a language model that answers questions, with limits on its answers over HTTP.

    Raises T2IError for a name that is not registered and for a language model that cannot answer
    questions.
    """
    language = load_language(name, LoadOptions(answers=limits))
    if not isinstance(language, Language):
        raise _unfit_model(name, "answers questions", type(language).__name__, ANSWERING)
    return CheckedAnswers(language)


def continuing(name: str, observations: Observations) -> NextTokens:
    """Load a language model that continues texts, with the parts and the device of a run.

    Raises T2IError for a name that is not registered and for a language model that cannot continue
    texts.
    """
    components = observations.components
    adapter = name.partition(":")[0]
    if adapter in ANSWERING_ONLY and adapter not in components.registries.languages.local:
        raise _unfit_model(name, "continues texts", adapter, CONTINUING)
    parts = {"registries": components.registries, "catalogue": components.catalogue}
    language = load_language(name, LoadOptions(device=components.settings.device, extra=parts))
    if not isinstance(language, NextTokens):
        raise _unfit_model(name, "continues texts", type(language).__name__, CONTINUING)
    return language


def _unfit_model(name: str, ability: str, got: str, choice: str) -> T2IError:
    return T2IError(
        f"--llm {name}: expected a language model that {ability}, got {got}. Choose {choice}."
    )


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
        """The answer; T2IError for an answer that is no text."""
        text: Any = self._language.answer(question, schema)
        if not isinstance(text, str):
            raise _unfit(self._language, "answer", "a text", text)
        return text


def checked_tokens(
    language: NextTokens, texts: Sequence[str], count: int
) -> Sequence[Sequence[NextToken]]:
    """A language model's next tokens; T2IError unless there is a list for each text.

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


def _unfit(language: Any, method: str, expected: str, answer: Any) -> T2IError:
    full_name = f"{type(language).__name__}.{method}"
    return T2IError(
        f"{full_name}: expected {expected}, got {repr(answer)[:SHOWN]}: correct its code."
    )
