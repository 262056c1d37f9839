"""Candidates for stereotypes, asked of a language model until its answer is whole (OASIS eq. 2)."""

from __future__ import annotations

from pytest_t2i.data import Attribute
from pytest_t2i.errors import LanguageError, MalformedAnswerError
from pytest_t2i.prompts.candidates import SCHEMA, attributes_of, instruction
from pytest_t2i.protocols import Language


def ask_for_candidates(
    language: Language, prompt: str, *, fewest: int, tries: int
) -> tuple[Attribute, ...]:
    """At least so many attributes for a prompt, each with its two descriptions.

    A malformed answer is none: the model is told what was wrong with it and asked again.

    Raises LanguageError when no answer was whole after all tries, or nobody answers.
    """
    question, wrong = instruction(prompt, fewest), ""
    for _ in range(tries):
        try:
            return attributes_of(language.answer(question + wrong, SCHEMA), fewest)
        except MalformedAnswerError as error:
            wrong = f"\nAn earlier answer could not be used: {error}"
    raise LanguageError(
        f"no usable answer in {tries} tries.{wrong.replace(chr(10), ' ')}. Ask another model, for "
        "fewer attributes (--count), or more often (--tries)."
    )
