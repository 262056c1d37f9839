"""Group the words of a user's suite into axes with suitable sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_t2i.prompts import Axis, builtin_axes

LYU = ("profession", "personality", "activity", "object", "place")
"""Axes that words are taken from unless the user names some: the 100 words of Lyu Table 7."""
OWN = "word"
"""Name of the axis of words that no built-in axis knows."""


def axes_of(words: Sequence[str], names: Sequence[str], template: str | None) -> tuple[Axis, ...]:
    """The axes of a suite.

    A word that a built-in axis knows gets that axis' sentence, any other one the sentence that is
    given, else that of professions. Without words: all words of the axes that are named.

    Raises UnknownNameError for an axis that is not known, ConfigurationError for a sentence
    without a place for the word, or a word that stands there twice.
    """
    if not words:
        return tuple(builtin_axes()[name] for name in names or LYU)
    default = builtin_axes()["profession"].template
    if template is not None:
        return (Axis(OWN, template, tuple(words), "word"),)
    groups: dict[str, list[str]] = {}
    for word in words:
        name, concept = _known(word)
        groups.setdefault(name, []).append(concept)
    return tuple(
        Axis(OWN, default, tuple(concepts), "word")
        if name == OWN
        else builtin_axes()[name].only(*concepts)
        for name, concepts in groups.items()
    )


def _known(word: str) -> tuple[str, str]:
    """The axis of a word, and the word as the axis spells it."""
    for axis in builtin_axes():
        for concept in axis.concepts:
            if concept.casefold() == word.casefold():
                return axis.name, concept
    return OWN, word


def thinned(axes: Sequence[Axis], words: int) -> tuple[Axis, ...]:
    """So many of the words, evenly over all of them; an axis that keeps none is left out."""
    pairs = [(place, word) for place, axis in enumerate(axes) for word in axis.concepts]
    words = min(words, len(pairs))
    kept = {pairs[k * len(pairs) // words] for k in range(words)}
    chosen = (
        tuple(word for word in axis.concepts if (place, word) in kept)
        for place, axis in enumerate(axes)
    )
    return tuple(
        replace(axis, concepts=concepts)
        for axis, concepts in zip(axes, chosen, strict=True)
        if concepts
    )


def words_of(axes: Sequence[Axis]) -> Iterator[str]:
    """All words, axis by axis."""
    for axis in axes:
        yield from axis.concepts
