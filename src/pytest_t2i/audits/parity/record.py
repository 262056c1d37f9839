"""The record of parity: what run.json holds of it, and pairs of runs in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_t2i.data import (
    Bounds,
    Count,
    Name,
    Share,
    ShareInterval,
    Signed,
    SignedInterval,
)


@dataclass(frozen=True, slots=True)
class ModelScoreRecord:
    """The model bias score over a set of prompts by one detector."""

    name: Name
    """Name of the set: "model" or an axis."""
    detector: str
    corrected: ShareInterval | None
    paper: Share | None
    """The paper's plug-in score, not corrected for few images nor by people's labels."""
    floor: Share | None
    prompts: Count
    clear_images: Count
    worst_case: Bounds | None = None
    """Bounds of the paper's score whatever the undetected images show; None without any."""
    uncorrected: ShareInterval | None = None
    """The score by the predicted labels alone, if ``corrected`` uses people's labels; else None."""

    @property
    def is_of_model(self) -> bool:
        """Whether the set holds all prompts, and not those of one axis."""
        return self.name == "model"


@dataclass(frozen=True, slots=True)
class CorrectedPrompt:
    """The score of one prompt as people's labels correct it."""

    id: str
    labels: Count
    """Number of images that people labelled."""
    by_detector: Signed | None
    """Prompt bias score by the detector; None without a clear image."""
    corrected: SignedInterval
    """Estimate of the score by people's labels on all its images."""


@dataclass(frozen=True, slots=True)
class CorrectionRecord:
    """The model bias score as people's labels correct it."""

    labelled: str
    """Folder of the labelled images."""
    detector: str
    labels: Count
    left_out: Count
    """Number of prompts with too few labels."""
    by_detector: Share
    """The paper's score by the detector, over the prompts with enough labels."""
    corrected: ShareInterval
    """Estimate of the paper's score by people's labels on the same images (PPI++)."""
    labels_to_halve: Count | None
    """Approximate number of further labels that would halve the interval."""
    prompts: tuple[CorrectedPrompt, ...] = ()
    annotators: Count = 0
    """Number of people who labelled."""
    accuracy: Mapping[str, ShareInterval | None] = field(default_factory=dict)
    """People's label -> share of right labels among the detector's; None without any."""


@dataclass(frozen=True, slots=True)
class GroupPrompt:
    """The groups of one prompt's images."""

    id: str
    """Id of the prompt."""
    images: Count
    """Number of images with a label."""
    counts: Mapping[str, Count]
    """Group -> number of images."""
    distance: ShareInterval | None
    """Distance from even shares; None without a label."""

    def __post_init__(self) -> None:
        if self.images and not self.counts:
            raise ValueError("expected counts of the images with a label")


@dataclass(frozen=True, slots=True)
class GroupsRecord:
    """The groups of all images, for a detector with labels other than male and female."""

    detector: str
    shares: Mapping[str, ShareInterval]
    """Group -> share of the images with a label, over all prompts."""
    distance: ShareInterval | None = None
    """Mean over prompts of half the L1 distance of their shares from even ones."""
    prompts: tuple[GroupPrompt, ...] = ()
    """The prompts, the furthest from even first."""

    def __post_init__(self) -> None:
        if self.distance is not None and not self.shares:
            raise ValueError("expected shares of the groups beside their distance")


@dataclass(frozen=True, slots=True)
class CellRecord:
    """One crossed prompt."""

    id: str
    """Id of the prompt."""
    row: str
    column: str
    share: ShareInterval | None
    """Share of men among the clear images; None without any."""


@dataclass(frozen=True, slots=True)
class CellsRecord:
    """Two axes crossed: the share of men in each cell, by the deciding detector."""

    rows: str
    """Name of the first axis."""
    columns: str
    """Name of the second axis."""
    cells: tuple[CellRecord, ...]


@dataclass(frozen=True, slots=True)
class ParityPart:
    """The part of run.json that parity writes."""

    model_scores: tuple[ModelScoreRecord, ...] = ()
    """Scores of the model, then of its axes, by each detector, the deciding one first."""
    groups: tuple[GroupsRecord, ...] = ()
    cells: tuple[CellsRecord, ...] = ()
    correction: CorrectionRecord | None = None
    """The correction by people's labels; None without people's labels of images of the run."""

    def of_deciding(self) -> tuple[ModelScoreRecord, ...]:
        """Return the model bias scores by the deciding detector."""
        first = next((score.detector for score in self.model_scores), "")
        return tuple(score for score in self.model_scores if score.detector == first)
