"""Ask a language model for candidates of stereotypes (OASIS eq. 2)."""

from __future__ import annotations

from pytest_t2i.data import Attribute
from pytest_t2i.errors import MalformedAnswerError, some
from pytest_t2i.prompts.candidates import SCHEMA, attributes_of, instruction
from pytest_t2i.prompts.language_model.ask import answer_of
from pytest_t2i.protocols import Language

MOST_WORDS = 4
"""The largest number of words of an attribute's name, as the schema says."""


def ask_for_candidates(
    language: Language, prompt: str, *, fewest: int, tries: int
) -> tuple[Attribute, ...]:
    """Return at least ``fewest`` attributes for a prompt, each with its two descriptions.

    Args:
        language: the language model to ask.
        prompt: the prompt of the pictures, such as "a photo of a Tunisian person".
        fewest: the smallest number of attributes in an answer.
        tries: how often to ask at most; the model is told what was wrong with the answer before.

    Raises:
        LanguageError: no answer was usable after all tries, or the model does not answer.

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
    """Return the attributes; raise MalformedAnswerError where a name is too long."""
    long = [
        repr(attribute.name) for attribute in attributes if len(attribute.name.split()) > MOST_WORDS
    ]
    if long:
        raise MalformedAnswerError(f"expected one to four words as 'attribute', got {some(long)}")
    return attributes
