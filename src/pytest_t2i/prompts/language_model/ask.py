"""Ask a language model until its answer is usable."""

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
    """Return what ``read`` makes of an answer that obeys the schema.

    After a malformed answer, the model is told what was wrong and asked again. An answer in a file
    (``answer_file``) does not change, so it is read once.
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
