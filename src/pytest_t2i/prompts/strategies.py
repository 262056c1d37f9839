"""Hypothesis strategies for combinations of words and for the prompts that name them.

They are for ``@given`` in tests of the code around a model. They shrink to the fewest words, and
to words that come earlier in their axis.

>>> from hypothesis import find
>>> from pytest_t2i import axes, strategies
>>> find(strategies.prompts(axes.place), lambda prompt: "museum" in prompt.text).id
'place-museum'
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_t2i.data import Prompt
from pytest_t2i.errors import ConfigurationError, MissingExtraError
from pytest_t2i.prompts import Axis, Part, combination
from pytest_t2i.prompts import templates as axis_of_templates

try:
    from hypothesis import reject
    from hypothesis import strategies as st
except ModuleNotFoundError:
    raise MissingExtraError("the module strategies", "strategies", "hypothesis") from None

MOST_WORDS = 3
"""The default largest number of words: as many as a person would write in a prompt."""


def combinations(
    *axes: Axis, min_words: int = 1, max_words: int = MOST_WORDS
) -> st.SearchStrategy[tuple[Part, ...]]:
    """Return a strategy for words of different axes, at most one of each, in their order.

    >>> from hypothesis import find
    >>> from pytest_t2i import axes
    >>> both = combinations(axes.nationality, axes.place, min_words=2)
    >>> [part.concept for part in find(both, lambda parts: parts[1].concept == "museum")]
    ['Iranian', 'museum']
    """
    if not axes:
        raise ConfigurationError("combinations: expected at least one axis, got none")
    names = [axis.name for axis in axes]
    if len(set(names)) < len(names):
        raise ConfigurationError(f"combinations: every axis is given once, got {names}")
    pool = [Part(axis, concept) for axis in axes for concept in axis.concepts]
    return some_of(pool, min_words=min_words, max_words=max_words)


def some_of(
    pool: Sequence[Part], *, min_words: int = 1, max_words: int = MOST_WORDS
) -> st.SearchStrategy[tuple[Part, ...]]:
    """Return a strategy for combinations of these words, at most one of each axis."""
    by_axis: dict[str, list[Part]] = {}
    for part in pool:
        by_axis.setdefault(part.axis.name, []).append(part)
    if not 1 <= min_words <= min(max_words, len(by_axis)):
        raise ConfigurationError(
            f"combinations of {len(by_axis)} axes: expected 1 <= min_words <= max_words and an "
            f"axis for each, got min_words={min_words}, max_words={max_words}"
        )
    axes = list(by_axis.values())
    most = min(max_words, len(axes))
    absent = _times_absent([len(axis) for axis in axes], (min_words + most) / 2)
    word_draws = [st.sampled_from(axis) for axis in axes]
    maybe = [st.sampled_from([*[None] * absent, *axis]) for axis in axes]
    return _some_of(st.integers(0, len(axes) - 1), word_draws, maybe, min_words, most)


@st.composite
def _some_of(
    draw: st.DrawFn,
    beginning: st.SearchStrategy[int],
    word_draws: Sequence[st.SearchStrategy[Part]],
    maybe: Sequence[st.SearchStrategy[Part | None]],
    fewest: int,
    most: int,
) -> tuple[Part, ...]:
    """Draw a word or "no word" for each axis; "no word" is simplest, so each word shrinks alone.

    Drawing begins at a random axis, so that the last of many axes are not drawn less often.
    """
    first = draw(beginning)
    words: dict[int, Part] = {}
    for step in range(len(word_draws)):
        place = (first + step) % len(word_draws)
        needed = fewest > 1 and fewest - len(words) == len(word_draws) - step
        word = draw(word_draws[place] if needed else maybe[place])
        if word is not None:
            words[place] = word
        if len(words) == most:
            break
    # A single word is not forced: it would come from another list, where shrinking loses it.
    if not words:
        reject()
    return tuple(words[place] for place in sorted(words))


def _times_absent(sizes: Sequence[int], words: float) -> int:
    absent = 1
    while sum(size / (size + absent) for size in sizes) > words:
        absent += 1
    return absent


def prompts(
    *axes: Axis,
    min_words: int = 1,
    max_words: int = MOST_WORDS,
    templates: Sequence[str] = (),
) -> st.SearchStrategy[Prompt]:
    """Return a strategy for neutral prompts that name words of different axes.

    Args:
        axes: axes to draw words from.
        min_words: fewest words of a prompt.
        max_words: most words of a prompt; there are never more than axes.
        templates: texts with the word "person", such as "a portrait of a person"; each prompt
            begins as one of them does. Without templates, prompts begin as the axes' own do.

    Returns:
        A strategy of prompts.

    Raises:
        ConfigurationError: as for ``combinations``, or a template without the word "person".

    >>> from hypothesis import find
    >>> from pytest_t2i import axes
    >>> drawn = prompts(axes.nationality, axes.place, templates=["a portrait of a person"])
    >>> find(drawn, lambda prompt: len(prompt.parts) > 2).text
    'a portrait of an Iranian person at the bus station'
    """
    strategy = combinations(*axes, min_words=min_words, max_words=max_words)
    # Raises now for axes that cannot be combined, and loads the library of articles before a draw.
    combination([Part(axis, axis.concepts[0]) for axis in axes])
    if not templates:
        return strategy.map(combination)
    beginnings = axis_of_templates(*templates)
    return st.builds(
        lambda parts, text: combination((*parts, Part(beginnings, text))),
        strategy,
        st.sampled_from(beginnings.concepts),
    )
