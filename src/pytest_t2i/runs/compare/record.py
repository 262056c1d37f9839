"""The record of a comparison of models, which its reports show and compare.json keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from pytest_t2i.data import Interval
from pytest_t2i.runs.record.picture_paths import named_from
from pytest_t2i.sections import Section
from pytest_t2i.statistics.ranks import Rank

SCHEMA = "pytest-t2i/comparison/2"


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """The score of one model on the prompts that all models share."""

    model: str
    prompts: str
    """Set of prompts: "all" or an axis."""
    corrected: Interval
    paper: float
    """Score without the correction for few images; for gender, Lyu eq. 1."""
    clear_images: int
    undetected: float
    """Share of the images without a label."""


@dataclass(frozen=True, slots=True)
class Placing:
    """The rank of a model among the others."""

    model: str
    source: str
    created: str
    rank: Rank


@dataclass(frozen=True, slots=True)
class PairDifference:
    """The difference of two models on the same prompts."""

    first: str
    second: str
    difference: Interval
    """Score of the second model minus that of the first."""
    p_value: float
    """Two-sided p-value against "no prompt differs", adjusted for all pairs (Holm)."""
    same_seeds: bool
    """Whether images were compared seed by seed."""
    identical: bool
    """Whether the images of every seed have the same label in both models."""


@dataclass(frozen=True, slots=True)
class PromptCell:
    """The result of one prompt by one model."""

    male: int | None
    """Number of images; None if other groups are compared, as with ``female``."""
    female: int | None
    undetected: int
    score: float | None
    """Prompt bias score (Lyu eq. 2), or distance from even shares."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Number of images per group."""


@dataclass(frozen=True, slots=True)
class ComparedPrompt:
    """The results of one prompt by all models (a row of Lyu Table 7)."""

    id: str
    text: str
    axis: str
    concept: str
    cells: tuple[PromptCell, ...]
    """Results in the order of the models."""
    average: float | None
    p_value: float
    """p-value against "no model differs", adjusted for all prompts (Benjamini-Hochberg)."""
    seeds: tuple[int, ...] = ()
    """Seeds with a picture of every model."""
    files: tuple[tuple[str, ...], ...] = ()
    """[model][seed] paths of the pictures."""


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """One value of an audit, by all models."""

    name: str
    """Name of the measured part: a stereotype, a set of triplets."""
    values: tuple[Interval | None, ...]


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """The record of a comparison of several models on the same prompts."""

    models: tuple[str, ...]
    detector: str
    placings: tuple[Placing, ...]
    scores: tuple[ComparedScore, ...]
    pairs: tuple[PairDifference, ...]
    prompts: tuple[ComparedPrompt, ...]
    left_out: int
    """Number of prompts without two clear images of every model."""
    tables: Mapping[str, tuple[ComparedValue, ...]] = field(default_factory=dict)
    """Metric -> values of audits that at least two models have."""
    sections: tuple[Section, ...] = ()
    """Sections in which audits compare the models."""
    remarks: tuple[str, ...] = ()
    level: float = 0.95
    metric: str = "model_bias_score"
    """The compared metric: ``model_bias_score`` or ``group_distance``."""
    groups: tuple[str, ...] = ("male", "female")
    """The compared groups."""
    schema: str = SCHEMA

    def as_kept(self, folder: Path) -> ModelComparison:
        roots = (folder.absolute().parent,)
        prompts = (
            replace(
                prompt,
                files=tuple(
                    tuple(named_from(file, roots) for file in pictures) for pictures in prompt.files
                ),
            )
            for prompt in self.prompts
        )
        return replace(self, prompts=tuple(prompts))

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False, allow_nan=False)
