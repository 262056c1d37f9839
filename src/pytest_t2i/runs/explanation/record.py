"""The record of an explanation: what changed, and which change made it worse (explain.json)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from pytest_t2i.data import Count, Interval, Level, Moment, Number, Share
from pytest_t2i.errors import FileFormatError
from pytest_t2i.files import convert, read_json, write_whole
from pytest_t2i.runs.record import RunRecord

SCHEMA = "pytest-t2i/explanation/1"
NAME = "explain.json"
"""The file beside a run.json."""
Outcome = Literal["named", "set", "none", "open"]
State = Literal["same", "changed", "not known"]
Place = Literal["words", "prompt", "denoising", "steps", "image", "labels"]
Movement = Literal["same", "differs", "moved", "not shown", "not measured"]


@dataclass(frozen=True, slots=True)
class ComponentRecord:
    """One component of both sides."""

    name: str
    """Name of a pipeline's part or of a setting: ``unet``, ``steps``, ``detector``."""
    kind: str
    """What it is: denoiser, decoder, argument, environment ..."""
    before: str | None
    """Version in the baseline, a digest shortened; null where it is not known."""
    now: str | None
    """Version in the run."""
    state: State
    not_exchanged: str = ""
    """Reason why a changed component was not exchanged; "" where it was."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What exchanging components does to the growth."""

    components: tuple[str, ...]
    restored: Interval
    """Share of the growth that goes where they alone are of the old model."""
    p_value: Share
    """Exact p-value against "restoring them changes nothing", adjusted (Holm)."""
    alone: Interval | None = None
    """Share of the growth that they bring where they alone are new; null where not tried."""
    alone_p_value: Share | None = None


@dataclass(frozen=True, slots=True)
class PlaceOfMaking:
    """What exchanging a culprit does at one place of the making of an image."""

    components: tuple[str, ...]
    """The culprit: the run's model is compared with the same model that has it of the baseline."""
    place: Place
    """Words, text embedding (``prompt``), final latent (``denoising``), steps of the denoising,
    picture, or label of the detector."""
    state: Movement
    """``same`` and ``differs`` say whether what is there is equal. ``moved``: a test shows a move
    towards the label that grew; ``not shown``: it does not."""
    steps: str = ""
    """The steps of ``steps``, such as ``1-2 of 4``."""
    differing: Share | None = None
    """Share of the prompts, or of the images, in which it differs."""
    change: Interval | None = None
    """Change towards the label that grew: of the similarity gap, or of the SPI of the steps. That
    of texts is exact."""
    p_value: Share | None = None
    """Exact p-value against "it did not move", adjusted for all places (Holm)."""
    reason: str = ""
    """Why it was not measured; "" where it was."""


@dataclass(frozen=True, slots=True)
class PromptOfExplanation:
    """A prompt of the hybrids."""

    id: str
    text: str
    growth: Number
    """Growth of the mean value of a picture in the run, shrunk by what chance makes of it."""
    labels: tuple[str, ...] = ()
    """Labels that became more frequent."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Which change made a run worse than its baseline."""

    created: Moment
    run: str
    """Model of the run."""
    run_created: Moment
    """Time of the run: an explanation beside another run.json is not shown with it."""
    baseline: str
    """Model of the baseline."""
    baseline_created: str
    baseline_file: str
    outcome: Outcome
    """``named``: each named effect acts alone. ``set``: the components act only together.
    ``none``: there is no growth to explain. ``open``: it cannot be told."""
    answer: str
    """The result in words."""
    components: tuple[ComponentRecord, ...]
    named: tuple[Effect, ...] = ()
    effects: tuple[Effect, ...] = ()
    """Every component that was exchanged."""
    growth: Interval | None = None
    """Growth of the mean value of a picture, on fresh images of both models; -2 to 2."""
    growth_p_value: Share | None = None
    prompts: tuple[PromptOfExplanation, ...] = ()
    planned: Count = 0
    """Images that were announced before."""
    images: Count = 0
    """Images that the hybrids consist of, those of the store included."""
    made: Count = 0
    """Images of hybrids that were made now."""
    per_hybrid: Count = 0
    stages: Count = 0
    """Looks at the images, each with its part of the error level."""
    level: Level = 0.05
    """Largest probability of a wrong name."""
    seed: Count = 0
    where: str = ""
    """Where in the making the culprits act, in words; "" where nothing was named or measured."""
    places: tuple[PlaceOfMaking, ...] = ()
    """The same, place by place."""
    where_planned: Count = 0
    """Images that were announced for the spaces and steps; 0 where they were not requested."""
    where_images: Count = 0
    """Images that were used for them beside those of the hybrids."""
    where_made: Count = 0
    """Images that were made now for them."""
    remarks: tuple[str, ...] = ()
    schema: str = SCHEMA

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that became more frequent, of all prompts."""
        return tuple(dict.fromkeys(label for prompt in self.prompts for label in prompt.labels))

    def with_places_of(self, earlier: Explanation | None) -> Explanation:
        """Return the explanation with what an earlier one found in the spaces and steps.

        It is the same where it is of the same run and baseline, at the same level, and has the same
        culprits: the images are kept, and so is what they showed.
        """
        same = earlier is not None and earlier.where_images and not self.where_planned
        if not same or earlier is None or _subject(earlier) != _subject(self):
            return self
        return replace(
            self,
            where=earlier.where,
            places=earlier.places,
            where_planned=earlier.where_planned,
            where_images=earlier.where_images,
        )

    def write(self, path: Path) -> None:
        """Write explain.json as a whole."""
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False, allow_nan=False)
        write_whole(path, f"{text}\n".encode())


def _subject(explanation: Explanation) -> tuple[object, ...]:
    """Return what the places of an explanation depend on."""
    return (
        explanation.run_created,
        explanation.baseline_created,
        explanation.level,
        explanation.per_hybrid,
        [effect.components for effect in explanation.named],
    )


def explanation_of(record: RunRecord, folder: Path) -> Explanation | None:
    """Return the explanation beside a run.json; None where there is none of this run."""
    file = folder / NAME
    if not file.is_file():
        return None
    try:
        explanation = convert(file, read_json(file, SCHEMA, kind="explain.json"), Explanation)
    except FileFormatError:
        # A report must not fail for the file of a later version beside it.
        return None
    belongs = (explanation.run, explanation.run_created) == (record.model, record.created)
    return explanation if belongs else None
