"""Candidates for stereotypes, asked of a language model until its answer is whole (OASIS eq. 2)."""

from __future__ import annotations

from pytest_t2i.data import Attribute
from pytest_t2i.errors import MalformedAnswerError, some
from pytest_t2i.prompts.candidates import SCHEMA, attributes_of, instruction
from pytest_t2i.prompts.language_model.ask import answer_of
from pytest_t2i.protocols import Language

MOST_WORDS = 4
"""Words of an attribute's name, as the schema says."""


def ask_for_candidates(
    language: Language, prompt: str, *, fewest: int, tries: int
) -> tuple[Attribute, ...]:
    """At least so many attributes for a prompt, each with its two descriptions.

    Args:
        language: whom to ask.
        prompt: what pictures are made of, such as "a photo of a Tunisian person".
        fewest: attributes that an answer must have.
        tries: how often to ask; each time it is told what was wrong with the answer before.

    Raises:
        LanguageError: no answer was whole after all tries, or nobody answers.

    >>> import json
    >>> class Hats:
    ...     def answer(self, question, schema=None):
    ...         hat = {"attribute": "hat", "positive": "with a hat", "negative": "without one"}
    ...         return json.dumps({"attributes": [hat]})
    >>> ask_for_candidates(Hats(), "a photo of a Tunisian person", fewest=1, tries=1)[0].name
    'hat'
    """
    return answer_of(
        language,
        instruction(prompt, fewest),
        SCHEMA,
        lambda answer: _short(attributes_of(answer, fewest)),
        tries=tries,
        remedy="Ask another model, for fewer attributes (--count), or more often (--tries).",
        mend="mend the file or use --count",
    )


def _short(attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
    """The attributes, whose names are short; MalformedAnswerError where one is not."""
    long = [repr(one.name) for one in attributes if len(one.name.split()) > MOST_WORDS]
    if long:
        raise MalformedAnswerError(f"expected one to four words as 'attribute', got {some(long)}")
    return attributes
