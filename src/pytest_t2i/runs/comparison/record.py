"""The record of a comparison of models: what its reports show and compare.json keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from pytest_t2i import statistics
from pytest_t2i.data import Interval
from pytest_t2i.runs.machine_paths import named_from
from pytest_t2i.sections import Section

SCHEMA = "pytest-t2i/comparison/2"


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """Score of one model on the prompts that all models share."""

    model: str
    prompts: str
    """"all" or an axis."""
    corrected: Interval
    paper: float
    """As it stands, not corrected for few images; of gender Lyu eq. 1."""
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
    """Score of the second minus that of the first."""
    p_value: float
    """Two-sided, against "no prompt comes out differently"; adjusted for all pairs (Holm)."""
    same_seeds: bool
    """Whether images were compared seed by seed."""
    identical: bool
    """Whether every image has the same label by both."""


@dataclass(frozen=True, slots=True)
class PromptCell:
    """One prompt by one model."""

    male: int | None
    """None where other groups are compared, as with ``female``."""
    female: int | None
    undetected: int
    score: float | None
    """Prompt bias score (Lyu eq. 2), or distance from even shares."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Images per group."""


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
    """Seeds with a picture of every model."""
    files: tuple[tuple[str, ...], ...] = ()
    """Pictures of these seeds, by model."""


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """One value by all models."""

    name: str
    """Name of the measured part: a stereotype, a set of triplets."""
    values: tuple[Interval | None, ...]


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
    tables: Mapping[str, tuple[ComparedValue, ...]] = field(default_factory=dict)
    """Metric -> what at least two models have of it."""
    sections: tuple[Section, ...] = ()
    """What audits show of the models side by side."""
    remarks: tuple[str, ...] = ()
    level: float = 0.95
    metric: str = "model_bias_score"
    """What is compared: this, or ``group_distance``."""
    groups: tuple[str, ...] = ("male", "female")
    """What the images are counted as."""
    schema: str = SCHEMA

    def as_kept(self, folder: Path) -> ModelComparison:
        """The comparison as it lies in a folder, its pictures named from the one above."""
        roots = (folder.absolute().parent,)
        prompts = (
            replace(
                prompt,
                files=tuple(tuple(named_from(file, roots) for file in of) for of in prompt.files),
            )
            for prompt in self.prompts
        )
        return replace(self, prompts=tuple(prompts))

    def to_json(self) -> str:
        """compare.json's text."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False, allow_nan=False)
