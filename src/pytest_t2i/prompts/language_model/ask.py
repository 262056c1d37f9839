"""A language model is asked until its answer is whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pytest_t2i.errors import LanguageError, MalformedAnswerError
from pytest_t2i.prompts.language_model.answers import check_answer
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
    mend: str = "mend the file",
) -> Answer:
    """What ``read`` makes of an answer that obeys the schema.

    A malformed answer is none: the model is told what was wrong with it and asked again. An answer
    that lies in a file (``answer_file``) stays the same, so it is asked for once.

    Raises LanguageError when no answer was whole after all tries, with the remedy, or with what
    mends the file; or when nobody answers.
    """
    file = getattr(language, "answer_file", None)
    wrong = hint = ""
    for _ in range(1 if file else tries):
        try:
            answer = language.answer(question + hint, schema)
            check_answer(answer, schema)
            return read(answer)
        except MalformedAnswerError as error:
            wrong = str(error)
            hint = f"\nAn earlier answer could not be used: {wrong}"
    if file:
        raise LanguageError(f"{file}: {wrong}: {mend}.")
    raise LanguageError(
        f"no usable answer in {tries} {'try' if tries == 1 else 'tries'}: {wrong}. {remedy}"
    )
