"""Group the words of a user's suite into axes with suitable sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_t2i.prompts import Axis, builtin_axes

LYU = ("profession", "personality", "activity", "object", "place")
"""The default axes: the 100 words of Lyu Table 7."""
OWN = "word"
"""The name of the axis of words that are in no built-in axis."""


def axes_of(words: Sequence[str], names: Sequence[str], template: str | None) -> tuple[Axis, ...]:
    """Return the axes of a suite.

    With a template, all words go into it. Without one, a word of a built-in axis gets the template
    of that axis, and any other word that of professions. Without words, the axes are those of
    ``names``, or the default ones.

    Raises:
        UnknownNameError: an axis is not known.
        ConfigurationError: the template has no place for the word, or a word is given twice.
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
    """Return the axis of a word, and the word as the axis spells it."""
    for axis in builtin_axes():
        for concept in axis.concepts:
            if concept.casefold() == word.casefold():
                return axis.name, concept
    return OWN, word


def thinned(axes: Sequence[Axis], words: int) -> tuple[Axis, ...]:
    """Return the axes with this many of their words, evenly chosen; empty axes are left out."""
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
    """Yield all words, axis by axis."""
    for axis in axes:
        yield from axis.concepts
