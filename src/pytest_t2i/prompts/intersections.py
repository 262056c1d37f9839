"""Intersections: prompts that name several concepts, and axes crossed with each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import NamedTuple

from pytest_t2i.data import Prompt, Triplet, Variant
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.prompts.axes import Axis, filled, worded_prompt
from pytest_t2i.prompts.grammar import swap_person, with_article

PERSON = re.compile(r"\bperson\b")
ARTICLE = re.compile(r"\b[Aa]n? $")
ALONE = "{word}"
"""The template of an axis whose concepts are templates themselves."""
TEMPLATE = "template"
"""The name of the axis of templates."""
FEWEST = 2
"""The smallest number of axes to cross; also the number of pieces around one "person"."""


class Part(NamedTuple):
    """A concept of an axis."""

    axis: Axis
    concept: str


def combination(parts: Sequence[Part]) -> Prompt:
    """Return the neutral prompt that names all concepts; for one concept, its usual prompt.

    Words before "person" in a template stay before it. Words after "person" follow it in the order
    of the parts:

    >>> from pytest_t2i import axes
    >>> combination([Part(axes.nationality, "Indian"), Part(axes.place, "museum")]).text
    'a photo of one real Indian person at the museum'

    An axis of templates (``templates``) gives the prompt its beginning, at any place in the order.

    Raises ConfigurationError for no part, an axis named twice, an axis with a language, and a
    template without one "person".
    """
    if not parts:
        raise ConfigurationError("a combination names at least one concept, got none")
    if len(parts) == 1:
        return parts[0].axis.variant(parts[0].concept, Variant.NEUTRAL)
    names = [part.axis.name for part in parts]
    if len(set(names)) < len(names):
        raise ConfigurationError(f"a combination takes one concept of each axis, got {names}")
    if spoken := [part.axis for part in parts if part.axis.language is not None]:
        raise ConfigurationError(
            f"axis {spoken[0].name!r}: an axis with a [language] cannot be crossed. Write its "
            "combinations as words of one axis"
        )
    axes_with_templates = [part.axis for part in parts if part.axis.further_templates]
    if len(axes_with_templates) > 1:
        raise ConfigurationError(
            "a combination takes several templates of one axis, got those of "
            f"{', '.join(axis.name for axis in axes_with_templates)}"
        )
    prompt = Prompt(
        "",
        _crossed(names),
        ", ".join(part.concept for part in parts),
        parts=tuple((part.axis.name, part.concept) for part in parts),
    )
    if not axes_with_templates:
        return replace(prompt, text=_text(parts))
    (axis,) = axes_with_templates

    def text(template: str) -> str:
        single = axis.worded(template)
        return _text([part._replace(axis=single) if part.axis is axis else part for part in parts])

    texts = list(map(text, axis.templates))
    if len(set(texts)) < len(texts):
        # The beginning of a crossed prompt is that of another axis.
        raise ConfigurationError(
            f"axis {axis.name!r}: expected templates that still differ where they are crossed, got "
            f"{texts[0]!r} more than once. Cross it with templates(...), whose prompts are separate"
        )
    return worded_prompt(prompt, texts)


def templates(*texts: str) -> Axis:
    """Return an axis of several beginnings of a prompt, to combine with other axes.

    Each text has the word "person" once: the words before it begin the prompt, the words after it
    end the prompt.

    >>> from pytest_t2i import axes
    >>> portrait = Part(templates("a portrait of a person"), "a portrait of a person")
    >>> combination([Part(axes.nationality, "Indian"), portrait]).text
    'a portrait of an Indian person'

    Raises ConfigurationError for no text, and for one without "person".
    """
    for text in texts:
        _around_person(TEMPLATE, text)
    return Axis(TEMPLATE, ALONE, texts)


@dataclass(frozen=True, slots=True)
class Intersection:
    """Axes crossed with each other: every concept of one with every concept of the others.

    >>> from pytest_t2i import axes
    >>> people = intersection(axes.nationality, axes.profession.only("nurse", "doctor"))
    >>> [prompt.id for prompt in people.prompts()][:2]
    ['nationality-x-profession-iranian-nurse', 'nationality-x-profession-iranian-doctor']
    """

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        if len(self.axes) < FEWEST:
            raise ConfigurationError(f"at least two axes are crossed, got {len(self.axes)}")
        combination([Part(axis, axis.concepts[0]) for axis in self.axes])

    @property
    def name(self) -> str:
        """The names of the axes: ``nationality-x-profession``."""
        return _crossed([axis.name for axis in self.axes])

    def __iter__(self) -> Iterator[tuple[Part, ...]]:
        for words in product(*(axis.concepts for axis in self.axes)):
            yield tuple(Part(axis, word) for axis, word in zip(self.axes, words, strict=True))

    def prompts(self) -> tuple[Prompt, ...]:
        """Return the neutral prompt of every combination; the last axis varies fastest."""
        return _prompts(self)

    def triplets(self) -> tuple[Triplet, ...]:
        """Return the neutral, feminine and masculine prompts of all combinations (Wu 3.1)."""
        return tuple(
            Triplet(
                prompt,
                _swapped(prompt, parts, Variant.FEMININE),
                _swapped(prompt, parts, Variant.MASCULINE),
            )
            for prompt, parts in zip(self.prompts(), self, strict=True)
        )


def intersection(*axes: Axis) -> Intersection:
    """Cross axes with each other, for ``@pytest.mark.t2i(...)``; see Intersection.

    >>> from pytest_t2i import axes
    >>> crossed = intersection(axes.nationality.only("Indian"), axes.place.only("museum"))
    >>> crossed.prompts()[0].text
    'a photo of one real Indian person at the museum'
    """
    return Intersection(axes)


# Cached, as every test case of a suite reads its marker.
@cache
def _prompts(crossed: Intersection) -> tuple[Prompt, ...]:
    return tuple(combination(parts) for parts in crossed)


def _swapped(prompt: Prompt, parts: Sequence[Part], variant: Variant) -> Prompt:
    if prompt.wordings:
        raise ConfigurationError(f"expected axes of one template for triplets, got {prompt.text!r}")
    return replace(prompt, text=swap_person(_text(parts, variant), variant), variant=variant)


def _crossed(names: Sequence[str]) -> str:
    return "-x-".join(names)


def _text(parts: Sequence[Part], variant: Variant = Variant.NEUTRAL) -> str:
    beginning, after, ending = "", "", ""
    before: list[tuple[str, str]] = []
    # A beginning from ``templates`` takes precedence over that of an axis.
    for axis, name in sorted(parts, key=lambda part: part.axis.template != ALONE):
        word = axis.word(name)
        concept = word.form(variant) or word.neutral
        if axis.template == ALONE:
            beginning, ending = _around_person(axis.name, concept)
            continue
        head, tail = _around_person(axis.name, axis.template)
        if "{" in head:
            before.append((head, concept))
        else:
            beginning = beginning or head
            # Two relative clauses are joined by "and".
            joint = " and" if tail.startswith(" who ") and " who " in after else ""
            after += joint + filled(tail, concept)
    words = " ".join(concept for _, concept in before)
    if not beginning:
        beginning, words = filled(before[0][0], words), ""
    return f"{_joined(beginning, words)}person{after}{ending}"


def _joined(beginning: str, words: str) -> str:
    if not words:
        return beginning
    article = ARTICLE.search(beginning)
    if article is None:
        return f"{beginning}{words} "
    fitting = with_article(words)
    if article[0].startswith("A"):
        fitting = fitting[0].upper() + fitting[1:]
    return f"{beginning[: article.start()]}{fitting} "


def _around_person(name: str, template: str) -> tuple[str, str]:
    pieces = PERSON.split(template)
    if len(pieces) != FEWEST:
        raise ConfigurationError(
            f"axis {name!r}: to be crossed, a template holds the word person once, got {template=}"
        )
    return pieces[0], pieces[1]
