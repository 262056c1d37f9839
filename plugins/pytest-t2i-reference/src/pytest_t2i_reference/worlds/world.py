"""Reads the TOML files of this folder."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

AXES = ("profession", "activity", "personality", "object", "place", "nationality")
LYU_AXES = AXES[:5]
"""The five axes with one hundred words of Lyu et al."""
COMBINED_AXES = ("nationality", "object", "place")
"""Axes whose words are combined in one picture."""


@dataclass(frozen=True, slots=True)
class Concept:
    """A word put into a template, and the attributes that go with it in every world."""

    axis: str
    word: str
    signature: Mapping[str, str | bool]
    """Attribute name of ``Person`` or ``Scene`` to its value."""
    signature_share: float
    """Chance that each attribute of the signature is kept in a drawing, 0..1."""


@dataclass(frozen=True, slots=True)
class PlantedIntersection:
    """Words that together have a score of their own."""

    words: frozenset[tuple[str, str]]
    """(axis, word), at least two."""
    score: float
    """Prompt bias score (P(man) - P(woman), -1..1) of every combination that names all of them."""


@dataclass(frozen=True, slots=True)
class World:
    """One planted distribution."""

    name: str
    source: str
    default_bias: float
    """Prompt bias score (P(man) - P(woman), -1..1) of concepts without one of their own."""
    bias: Mapping[str, Mapping[str, float]]
    """Axis to word to prompt bias score."""
    nationality: Mapping[str, Mapping[str, float]]
    """Nationality to trait to share in percent."""
    intersections: tuple[PlantedIntersection, ...] = ()
    """Combinations that are not the mean of their words."""

    def man_share(self, concept: Concept) -> float:
        """The planted P(man | concept)."""
        if concept.axis == "nationality":
            return self.nationality[concept.word]["man"] / 100
        return (1 + self.bias.get(concept.axis, {}).get(concept.word, self.default_bias)) / 2

    def combined_share(self, concepts: Sequence[Concept]) -> float:
        """The planted P(man | all of these concepts).

        That of the planted intersection whose words are all named (their mean, if there are several), else the mean of
        the concepts' own.
        """
        axes = [concept.axis for concept in concepts]
        if not axes or len(set(axes)) < len(axes):
            raise ValueError(f"a combination takes at least one concept and one of each axis, got {axes}")
        shares = [(1 + planted.score) / 2 for planted in self.named(concepts)]
        shares = shares or [self.man_share(concept) for concept in concepts]
        return sum(shares) / len(shares)

    def named(self, concepts: Iterable[Concept]) -> tuple[PlantedIntersection, ...]:
        """The planted intersections whose words are all among these concepts."""
        words = {(concept.axis, concept.word) for concept in concepts}
        return tuple(planted for planted in self.intersections if planted.words <= words)

    def trait_share(self, nationality: str, trait: str, *, gender: str | None = None) -> float:
        """P(trait | nationality), or P(trait | nationality, gender). Traits of men are never drawn on women."""
        traits = self.nationality[nationality]
        share = traits[trait] / 100
        if gender is None or trait not in MEN_ONLY:
            return share
        return 0.0 if gender == "woman" else min(1.0, share / (traits["man"] / 100))


MEN_ONLY = frozenset({"turban", "beard", "moustache"})


@cache
def load_concepts() -> tuple[Concept, ...]:
    """The hundred words of Lyu et al. and three nationalities, in the order of the file."""
    table = _read("concepts.toml")
    share = float(table["signature_share"])
    return tuple(Concept(axis, word, signature, share) for axis in AXES for word, signature in table[axis].items())


@cache
def load_world(name: str) -> World:
    """``balanced`` or ``biased``."""
    table = _read(f"{name}.toml")
    bias = {axis: words for axis, words in table["bias"].items() if axis != "default"}
    intersections = read_intersections(table.get("intersection", []))
    return World(
        table["name"], table["source"], float(table["bias"]["default"]), bias, table["nationality"], intersections
    )


def read_intersections(tables: Sequence[Mapping[str, Any]]) -> tuple[PlantedIntersection, ...]:
    """Planted intersections from TOML tables that give a word for each of two or more axes, and a score.

    >>> read_intersections([{"object": "cup", "place": "hospital", "score": 0.95}])[0].score
    0.95

    Raises ValueError that names the table and what is wrong with it.
    """
    intersections = tuple(_intersection(table) for table in tables)
    for number, planted in enumerate(intersections):
        if planted.words in [other.words for other in intersections[:number]]:
            raise ValueError(f"an intersection is planted once, got {sorted(planted.words)} again")
    return intersections


def _intersection(table: Mapping[str, Any]) -> PlantedIntersection:
    known = {(concept.axis, concept.word) for concept in load_concepts() if concept.axis in COMBINED_AXES}
    words = {axis: word for axis, word in table.items() if axis != "score"}
    if len(words) < 2 or not known.issuperset(words.items()):
        raise ValueError(f"an intersection names words of two or more of {', '.join(COMBINED_AXES)}, got {dict(table)}")
    score = table.get("score")
    if not isinstance(score, int | float) or not -1 <= score <= 1:
        raise ValueError(f"an intersection has a score from -1 to 1, got {dict(table)}")
    return PlantedIntersection(frozenset(words.items()), float(score))


def _read(file: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(file).read_text(encoding="utf-8"))
