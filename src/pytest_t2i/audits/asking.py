"""A language model is asked until its answer is whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pytest_t2i.errors import LanguageError, MalformedAnswerError
from pytest_t2i.protocols import Language

Answer = TypeVar("Answer")


def answer_of(
    language: Language,
    question: str,
    schema: Mapping[str, Any],
    read: Callable[[str], Answer],
    *,
    tries: int,
    remedy: str,
) -> Answer:
    """What ``read`` makes of an answer.

    A malformed answer is none: the model is told what was wrong with it and asked again.

    Raises LanguageError, with the remedy, when no answer was whole after all tries, or nobody
    answers.
    """
    wrong = ""
    for _ in range(tries):
        try:
            return read(language.answer(question + wrong, schema))
        except MalformedAnswerError as error:
            wrong = f"\nAn earlier answer could not be used: {error}"
    raise LanguageError(
        f"no usable answer in {tries} tries.{wrong.replace(chr(10), ' ')}. {remedy}"
    )
