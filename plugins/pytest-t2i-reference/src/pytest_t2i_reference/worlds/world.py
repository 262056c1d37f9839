"""Reads the TOML files of this folder."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

AXES = ("profession", "activity", "personality", "object", "place", "nationality")
LYU_AXES = AXES[:5]
"""The five axes with one hundred words of Lyu et al."""


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

    def man_share(self, concept: Concept) -> float:
        """The planted P(man | concept)."""
        if concept.axis == "nationality":
            return self.nationality[concept.word]["man"] / 100
        return (1 + self.bias.get(concept.axis, {}).get(concept.word, self.default_bias)) / 2

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
    return World(table["name"], table["source"], float(table["bias"]["default"]), bias, table["nationality"])


def _read(file: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(file).read_text(encoding="utf-8"))
