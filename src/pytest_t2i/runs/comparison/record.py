"""The record of a comparison of models: what its reports show and compare.json keeps."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from pytest_t2i import statistics
from pytest_t2i.data import Interval

SCHEMA = "pytest-t2i/comparison/1"


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """Model bias score of one model on the prompts that all models share."""

    model: str
    prompts: str
    """"all" or an axis."""
    corrected: Interval
    paper: float
    """Lyu eq. 1 as it stands."""
    clear_images: int
    undetected: float
    """Share of the images that have no label."""


@dataclass(frozen=True, slots=True)
class Placing:
    """Where a model stands among the others."""

    model: str
    source: str
    created: str
    rank: statistics.Rank


@dataclass(frozen=True, slots=True)
class PairDifference:
    """Two models on the same prompts."""

    first: str
    second: str
    difference: Interval
    """Model bias score of the second minus that of the first."""
    p_value: float
    """Two-sided, against "no prompt comes out differently"; adjusted for all pairs (Holm)."""
    same_seeds: bool
    """Whether images were compared seed by seed."""
    identical: bool
    """Whether every image has the same label by both."""


@dataclass(frozen=True, slots=True)
class PromptCell:
    """One prompt by one model."""

    male: int
    female: int
    undetected: int
    score: float | None
    """Prompt bias score (Lyu eq. 2)."""


@dataclass(frozen=True, slots=True)
class ComparedPrompt:
    """One prompt by all models (a row of Lyu Table 7)."""

    id: str
    text: str
    axis: str
    concept: str
    cells: tuple[PromptCell, ...]
    """In the order of the models."""
    average: float | None
    p_value: float
    """Against "comes out alike by every model"; adjusted for all prompts (Benjamini-Hochberg)."""
    seeds: tuple[int, ...] = ()
    """Of which every model has a picture."""
    files: tuple[tuple[str, ...], ...] = ()
    """Pictures of these seeds, by model."""


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """A stereotype's score or a similarity gap, by all models."""

    name: str
    values: tuple[Interval | None, ...]


@dataclass(frozen=True, slots=True)
class ComparedVariety:
    """Stereotype score and variety of one attribute of one concept, by all models."""

    concept: str
    attribute: str
    scores: tuple[Interval | None, ...]
    """Stereotype score (OASIS eq. 3)."""
    varieties: tuple[Interval | None, ...]
    """WALS (OASIS eq. 7)."""


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """What several models come to on the same prompts."""

    models: tuple[str, ...]
    detector: str
    placings: tuple[Placing, ...]
    scores: tuple[ComparedScore, ...]
    pairs: tuple[PairDifference, ...]
    prompts: tuple[ComparedPrompt, ...]
    left_out: int
    """Prompts that not every model has, or not with two clear images."""
    stereotypes: tuple[ComparedValue, ...] = ()
    gaps: tuple[ComparedValue, ...] = ()
    varieties: tuple[ComparedVariety, ...] = ()
    """Where at least one model has both scores."""
    remarks: tuple[str, ...] = ()
    level: float = 0.95
    schema: str = SCHEMA

    def to_json(self) -> str:
        """compare.json's text."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False, allow_nan=False)
