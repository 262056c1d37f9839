"""Checks of an axis: its template, its concepts, its sentences."""

from __future__ import annotations

from collections import Counter

from pytest_t2i.data import Prompt, Variant
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.prompts.grammar import named_in, swap_person

PLACEHOLDERS = ("{a word}", "{word}")
"""The marks in a template that stand for the concept."""


def check_sentences(name: str, sentences: tuple[tuple[str, str], ...], indicator: str) -> None:
    """Raise ConfigurationError unless each sentence names its concept once.

    With the indicator "person", each sentence must also have the word person or people.
    """
    for word, sentence in sentences:
        if len(named_in(word).findall(sentence)) != 1:
            raise ConfigurationError(
                f"axis {name!r}: a sentence names its concept once, got {word}={sentence!r}"
            )
        if indicator == "person" and swap_person(sentence, Variant.FEMININE) == sentence:
            raise ConfigurationError(
                f"axis {name!r}: a sentence holds person or people, got {word}={sentence!r}"
            )


def check_template(name: str, template: str, indicator: str) -> None:
    """Raise ConfigurationError unless the template takes one concept and the indicator is known."""
    if sum(template.count(mark) for mark in PLACEHOLDERS) != 1:
        raise ConfigurationError(
            f"axis {name!r}: a template holds {{word}} or {{a word}} once, got {template=}"
        )
    if indicator not in ("person", "word"):
        raise ConfigurationError(
            f"axis {name!r}: indicator is 'person' or 'word', got indicator={indicator!r}"
        )


def check_concepts(name: str, concepts: tuple[str, ...]) -> None:
    """Raise ConfigurationError unless the concepts are words, each listed once."""
    if not concepts:
        raise ConfigurationError(f"axis {name!r}: expected at least one concept, got none")
    for concept in concepts:
        if not isinstance(concept, str) or not concept.strip():
            raise ConfigurationError(f"axis {name!r}: a concept is a word, got concept={concept!r}")
    counts = Counter(Prompt("", name, concept).id for concept in concepts)
    twice = sorted(member for member, count in counts.items() if count > 1)
    if twice:
        raise ConfigurationError(
            f"axis {name!r}: every concept is listed once, whatever its capitals; "
            f"got {', '.join(twice)} more than once"
        )
