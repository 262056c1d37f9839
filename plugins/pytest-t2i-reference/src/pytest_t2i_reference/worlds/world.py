"""Reads the TOML files of this folder."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from pytest_t2i_reference.drawing.attributes import GENDERS, HELD, PLACES

AXES = ("profession", "activity", "personality", "object", "place", "nationality")
LYU_AXES = AXES[:5]
"""The five axes with one hundred words of Lyu et al."""
COMBINED_AXES = ("nationality", "object", "place")
"""Axes whose words are combined in one picture."""
OPEN_AXES = ("profession", "activity", "personality", "place")
"""Axes whose words leave open what people hold, unless their signature says it."""


@dataclass(frozen=True, slots=True)
class Concept:
    """A word put into a template, and the attributes that go with it in every world."""

    axis: str
    word: str
    signature: Mapping[str, str | bool]
    """Attribute name of ``Person`` or ``Scene`` to its value."""
    signature_share: float
    """Chance that each attribute of the signature is kept in a drawing, 0..1."""

    @property
    def leaves_held_open(self) -> bool:
        """Whether a world may say what people of this concept hold: no object is a part of the word itself."""
        return self.axis in OPEN_AXES and "held" not in self.signature

    @property
    def leaves_place_open(self) -> bool:
        """Whether a world may say where people of this concept are: an object of one's own that belongs nowhere."""
        return self.axis == "object" and "place" not in self.signature


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
    held: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Object to gender to P(held | gender), where a concept leaves open what is held."""
    places: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Place to gender to P(place | gender), where a concept leaves the place open; all others share what is left."""

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

    def held_share(self, concept: Concept, held: str, gender: str | None = None) -> float:
        """P(somebody holds this object | concept, gender), 0..1; without a gender that of both as the world mixes them.

        Where the concept leaves open what is held it is what is planted, otherwise what its signature says.
        """
        if not concept.leaves_held_open:
            return concept.signature_share if concept.signature.get("held") == held else 0.0
        return self._mixed(concept, self.held.get(held, dict.fromkeys(GENDERS, 0.0)), gender)

    def place_share(self, concept: Concept, place: str, gender: str | None = None) -> float:
        """P(place | concept, gender), 0..1; without a gender that of both as the world mixes them.

        Where the concept leaves the place open it is what is planted, otherwise what its signature says; all other
        places are alike.
        """
        if concept.leaves_place_open:
            return self._mixed(concept, self.places.get(place, self._elsewhere()), gender)
        own = concept.signature_share if "place" in concept.signature else 0.0
        return own * (concept.signature.get("place") == place) + (1 - own) / len(PLACES)

    def _elsewhere(self) -> Mapping[str, float]:
        """For each gender, the share of every place that is not planted."""
        left = len(PLACES) - len(self.places)
        return {gender: (1 - sum(shares[gender] for shares in self.places.values())) / left for gender in GENDERS}

    def _mixed(self, concept: Concept, shares: Mapping[str, float], gender: str | None) -> float:
        if gender is not None:
            return shares[gender]
        man = self.man_share(concept)
        return man * shares["man"] + (1 - man) * shares["woman"]

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
        table["name"],
        table["source"],
        float(table["bias"]["default"]),
        bias,
        table["nationality"],
        intersections,
        read_held(table.get("held", {})),
        read_places(table.get("place", {})),
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


def read_held(table: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, float]]:
    """Planted objects from TOML tables that give a share for women and for men.

    >>> read_held({"flower": {"woman": 0.7, "man": 0.02}})["flower"]["woman"]
    0.7

    Raises ValueError that names what is wrong: an object that is not drawn, a gender without a share, a share outside
    of 0 to 1, or more objects than the one hand that holds them.
    """
    return _shares_of(table, HELD[1:], "a held object")


def read_places(table: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, float]]:
    """Planted places from TOML tables that give a share for women and for men.

    >>> read_places({"kitchen": {"woman": 0.6, "man": 0.05}})["kitchen"]["man"]
    0.05

    Raises ValueError that names what is wrong: a place that is not drawn, a gender without a share, a share outside of
    0 to 1, or shares of more than 1 in all.
    """
    return _shares_of(table, PLACES, "a place")


def _shares_of(
    table: Mapping[str, Mapping[str, Any]], names: Sequence[str], what: str
) -> Mapping[str, Mapping[str, float]]:
    for name, shares in table.items():
        if name not in names:
            raise ValueError(f"{what} is one of {', '.join(names)}, got {name!r}")
        if set(shares) != set(GENDERS) or not all(map(_is_share, shares.values())):
            raise ValueError(f"{what} has a share from 0 to 1 for {' and '.join(GENDERS)}, got {name}: {shares}")
    for gender in GENDERS:
        total = sum(shares[gender] for shares in table.values())
        if total > 1:
            raise ValueError(f"shares of {what.split()[-1]}s add up to 1 at most, got {total:g} for {gender}")
    return {name: {gender: float(shares[gender]) for gender in GENDERS} for name, shares in table.items()}


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


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
