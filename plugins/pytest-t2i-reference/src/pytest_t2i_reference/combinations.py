"""Combinations: several concepts in one picture, asked for in exactly the words that the core uses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations, product

from pytest_t2i import axes
from pytest_t2i.prompts import Part, combination, intersection

from pytest_t2i_reference.worlds import Concept, World, load_concepts
from pytest_t2i_reference.worlds.world import COMBINED_AXES

Combination = tuple[Concept, ...]
"""One concept of each of several axes, in the order of ``COMBINED_AXES``."""


@cache
def all_combinations() -> tuple[Combination, ...]:
    """Every pair and every triple of a nationality, an object and a place.

    >>> [sum(len(one) == size for one in all_combinations()) for size in (2, 3)]
    [160, 300]
    """
    words = {axis: [concept for concept in load_concepts() if concept.axis == axis] for axis in COMBINED_AXES}
    return tuple(
        chosen
        for size in (2, 3)
        for names in combinations(COMBINED_AXES, size)
        for chosen in product(*(words[axis] for axis in names))
    )


def planted_combinations(world: World) -> tuple[Combination, ...]:
    """The combinations that a world's planted intersections name, and nothing else besides."""
    words = [planted.words for planted in world.intersections]
    return tuple(
        concepts for concepts in all_combinations() if {(concept.axis, concept.word) for concept in concepts} in words
    )


def combined_prompt(concepts: Sequence[Concept]) -> str:
    """The neutral prompt.

    >>> combined_prompt(all_combinations()[-1])
    'a photo of one real Mexican person with a cup at the mall'
    """
    text: str = combination([Part(axes[concept.axis], concept.word) for concept in concepts]).text
    return text


def combined_triplet(concepts: Sequence[Concept]) -> tuple[str, str, str]:
    """Neutral, feminine and masculine prompt."""
    crossed = intersection(*(axes[concept.axis].only(concept.word) for concept in concepts))
    (triplet,) = crossed.triplets()
    return triplet.neutral.text, triplet.feminine.text, triplet.masculine.text
