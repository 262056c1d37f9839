"""Ask a language model for neutral sentences of professions (Wu section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pytest_t2i.errors import LanguageError
from pytest_t2i.prompts.axes import Axis
from pytest_t2i.prompts.language_model.ask import answer_of
from pytest_t2i.prompts.sentences import SCHEMA, instruction, sentence_of
from pytest_t2i.protocols import Language

Known = Mapping[str, Mapping[str, str]]
"""Axis -> profession -> sentence."""


def ask_for_sentences(
    language: Language,
    axes: Sequence[Axis],
    known: Known,
    *,
    tries: int,
    keep: Callable[[list[Axis]], None],
) -> int:
    """Ask for a sentence of every concept that has none yet; return how many were written."""
    sentences = {axis.name: dict(known.get(axis.name, {})) for axis in axes}
    answers: dict[str, str] = {}
    for axis in axes:
        mine = sentences[axis.name]
        for word in axis.concepts:
            if word in mine:
                continue
            answers[word] = mine[word] = answers.get(word) or _written(language, word, tries)
            keep([_with(axis_to_keep, sentences[axis_to_keep.name]) for axis_to_keep in axes])
    return len(answers)


def _with(axis: Axis, sentences: Mapping[str, str]) -> Axis:
    """Return the axis with its sentences, in the order of its concepts."""
    pairs = tuple((word, sentences[word]) for word in axis.concepts if word in sentences)
    return replace(axis, sentences=pairs)


def _written(language: Language, word: str, tries: int) -> str:
    try:
        return answer_of(
            language,
            instruction(word),
            SCHEMA,
            lambda answer: sentence_of(answer, word),
            tries=tries,
            remedy="Ask another model, or more often (--tries).",
        )
    except LanguageError as error:
        raise LanguageError(f"{word}: {error}") from None
