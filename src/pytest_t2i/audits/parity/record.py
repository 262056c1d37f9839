"""What parity keeps in run.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_t2i.data import (
    Bounds,
    Count,
    Interval,
    Name,
    Number,
    Outcome,
    Share,
    ShareInterval,
    Signed,
    SignedInterval,
)


@dataclass(frozen=True, slots=True)
class ModelScore:
    """Model bias score over a set of prompts by one detector."""

    name: Name
    """"model" or an axis."""
    detector: str
    corrected: ShareInterval | None
    paper: ShareInterval | None
    floor: Share | None
    prompts: Count
    clear_images: Count
    worst_case: Bounds | None = None
    """Where the paper's score lies whatever the undetected images show; None if none are."""
    uncorrected: ShareInterval | None = None
    """By the predicted labels alone, where ``corrected`` is by people's labels too; else None."""

    @property
    def is_of_model(self) -> bool:
        """Whether it is over all prompts, and not over those of an axis."""
        return self.name == "model"


@dataclass(frozen=True, slots=True)
class CorrectedPrompt:
    """One prompt as people's labels correct it."""

    id: str
    labels: Count
    """Images that people labelled."""
    by_detector: Signed | None
    """Prompt bias score by the detector; None without a clear image."""
    corrected: SignedInterval
    """What people would give on all its images, estimated."""


@dataclass(frozen=True, slots=True)
class CorrectionRecord:
    """The model bias score as people's labels correct it."""

    labelled: str
    """Where the labelled images lie."""
    detector: str
    labels: Count
    left_out: Count
    """Prompts with too few labels."""
    by_detector: Share
    """The paper's score by the detector, over the prompts with labels."""
    corrected: ShareInterval
    """The paper's score that people would give on the same images (PPI++)."""
    adjusted: Interval | None
    """A second opinion (Rogan-Gladen)."""
    labels_to_halve: Count | None
    """About how many more labels would halve the interval."""
    prompts: tuple[CorrectedPrompt, ...] = ()
    annotators: Count | None = None
    """How many people labelled; None in older files."""
    accuracy: Mapping[str, ShareInterval | None] = field(default_factory=dict)
    """People's label -> how often the detector's is right where it gave one; None without any."""


@dataclass(frozen=True, slots=True)
class GroupCorrectionRecord:
    """Shares of a detector's groups as people's labels correct them."""

    labelled: str
    """Where the labelled images lie."""
    detector: str
    labels: Count
    prompts: Count
    """With enough labels."""
    left_out: Count
    """Prompts with too few labels."""
    by_detector: Mapping[str, Share | None]
    """Group -> its share of the clear images of these prompts; None without any."""
    corrected: Mapping[str, ShareInterval]
    """What people would give on the same images (PPI++)."""
    annotators: Count | None = None
    """How many people labelled; None in older files."""
    distance: ShareInterval | None = None
    """Mean distance of prompts from even shares, corrected; None with too few labels."""
    distance_by_detector: Share | None = None
    """The same by the predicted labels, not corrected for few images."""
    accuracy: Mapping[str, ShareInterval | None] = field(default_factory=dict)
    """People's label -> how often the detector's is right where it gave one; None without any."""

    def __post_init__(self) -> None:
        if not self.corrected.keys() <= self.by_detector.keys():
            raise ValueError("expected by_detector to have every group of corrected")


@dataclass(frozen=True, slots=True)
class GroupPrompt:
    """How one prompt's images fall into the groups."""

    id: str
    """Id of the prompt."""
    images: Count
    """With a label."""
    counts: Mapping[str, Count]
    """Group -> images."""
    distance: ShareInterval | None
    """From even shares; None without a label."""
    indices: Mapping[str, ShareInterval | None] = field(default_factory=dict)
    """Metric, such as group_entropy -> how even the groups are; None with too few labels."""


@dataclass(frozen=True, slots=True)
class GroupsRecord:
    """How the images fall into a detector's groups, where these are not male and female."""

    detector: str
    shares: Mapping[str, ShareInterval]
    """Group -> share of the images with a label, over all prompts."""
    gap: Share
    """Largest minus smallest share."""
    entropy: Share
    """Normalised: 1 is even, 0 is one group only."""
    distance: ShareInterval | None = None
    """Mean over prompts of half the L1 distance of their shares from even ones."""
    prompts: tuple[GroupPrompt, ...] = ()
    """The furthest from even first."""


@dataclass(frozen=True, slots=True)
class CrossedRecord:
    """Two attributes crossed: what two detectors say of the same images."""

    detectors: Name
    """Both names."""
    images: Count
    """To which both gave a label."""
    shares: Mapping[str, ShareInterval]
    """Combination -> its share of these images over all prompts; the intervals hold together."""
    distance: ShareInterval | None = None
    """Mean over prompts of the distance of the combinations' shares from even ones."""


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
class VariationRecord:
    """The model bias score of the same images under another choice."""

    detector: str
    choice: str
    """What is done otherwise: an estimator, a filter."""
    interval: Interval | None
    outcome: Outcome
    """Outcome of the same limit."""


@dataclass(frozen=True, slots=True)
class SensitivityRecord:
    """A verdict on the model bias score, and what it would be under other choices."""

    bound: Number
    fragile: bool
    """Whether another choice turns PASS into FAIL or FAIL into PASS."""
    variations: tuple[VariationRecord, ...]
    """The first is the verdict as it stands."""


@dataclass(frozen=True, slots=True)
class ParityPart:
    """The part of run.json that parity writes."""

    model_scores: tuple[ModelScore, ...] = ()
    """The model first, then its axes; by each detector, the deciding one first."""
    groups: tuple[GroupsRecord, ...] = ()
    cells: tuple[CellsRecord, ...] = ()
    sensitivity: tuple[SensitivityRecord, ...] = ()
    correction: CorrectionRecord | None = None
    """None without people's labels of images of the run."""
    group_correction: GroupCorrectionRecord | None = None
    """Where --t2i-labels holds labels other than male and female."""
    crossed: tuple[CrossedRecord, ...] = ()
    """Two detectors crossed, the deciding one with each other one."""

    def of_deciding(self) -> tuple[ModelScore, ...]:
        """Model bias scores by the detector whose word decides."""
        first = next((score.detector for score in self.model_scores), "")
        return tuple(score for score in self.model_scores if score.detector == first)
