"""Candidates for stereotypes, asked of a language model until its answer is whole (OASIS eq. 2)."""

from __future__ import annotations

from pytest_t2i.audits.asking import answer_of
from pytest_t2i.data import Attribute
from pytest_t2i.prompts.candidates import SCHEMA, attributes_of, instruction
from pytest_t2i.protocols import Language


def ask_for_candidates(
    language: Language, prompt: str, *, fewest: int, tries: int
) -> tuple[Attribute, ...]:
    """At least so many attributes for a prompt, each with its two descriptions.

    Raises LanguageError when no answer was whole after all tries, or nobody answers.
    """
    return answer_of(
        language,
        instruction(prompt, fewest),
        SCHEMA,
        lambda answer: attributes_of(answer, fewest),
        tries=tries,
        remedy="Ask another model, for fewer attributes (--count), or more often (--tries).",
    )
