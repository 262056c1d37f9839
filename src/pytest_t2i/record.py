"""The record of one run: what reports show and run.json keeps (schema in docs/run-json.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pytest_t2i.data import Interval, Outcome
from pytest_t2i.errors import FileFormatError
from pytest_t2i.files import read_json

SCHEMA = "pytest-t2i/run/1"
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison that a test made, with its verdict."""

    test: str
    """Node id of the test."""
    metric: str
    subject: str
    """What was measured: a prompt's id, a stereotype's id, "model"."""
    outcome: Outcome
    estimate: float | None
    low: float | None
    high: float | None
    level: float | None
    method: str
    n: int
    operator: str
    bound: float
    reason: str = ""
    """Why the limit is what it is."""
    p_value: float | None = None
    images_to_decide: int | None = None
    paper: float | None = None
    """The paper's plug-in estimate, where it differs."""
    floor: float | None = None
    """What a perfectly fair model would show on average with as many images."""
    message: str = ""
    against: str = "limit"
    """"limit" or "baseline"."""


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """One image of a prompt and what each detector says of it."""

    seed: int
    file: str | None
    """Path of the PNG; None when the model refused."""
    detections: Mapping[str, str]
    """Detector name -> label, or "undetected: reason"."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """Scores of the deciding detector per label."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many images of a prompt got each label, and why others got none."""

    labels: Mapping[str, int]
    undetected: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """Everything measured on one prompt."""

    id: str
    text: str
    axis: str
    concept: str
    variant: str
    counts: Mapping[str, Counts]
    """Per detector."""
    prompt_bias_score: Interval | None
    """By the deciding detector; None without a clear image."""
    images: tuple[ImageRecord, ...]


@dataclass(frozen=True, slots=True)
class ModelScore:
    """Model bias score over a set of prompts by one detector."""

    name: str
    """"model" or an axis."""
    detector: str
    corrected: Interval | None
    paper: Interval | None
    floor: float | None
    prompts: int
    clear_images: int


@dataclass(frozen=True, slots=True)
class StereotypeRecord:
    """One attribute of one concept."""

    id: str
    concept: str
    attribute: str
    detector: str
    expected: float
    share: Interval | None
    score: Interval | None
    """Stereotype score Psi."""
    source: str


@dataclass(frozen=True, slots=True)
class GapRecord:
    """Similarity gap in one space over a set of triplets."""

    space: str
    name: str
    """"model" or an axis."""
    gap: Interval | None
    to_feminine: float | None
    to_masculine: float | None
    triplets: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One recorded execution."""

    created: str
    """UTC, ISO 8601."""
    seconds: float
    model: str
    settings: Mapping[str, Any]
    provenance: Mapping[str, Any]
    work: Mapping[str, Any]
    checks: tuple[Check, ...] = ()
    model_scores: tuple[ModelScore, ...] = ()
    prompts: tuple[PromptRecord, ...] = ()
    stereotypes: tuple[StereotypeRecord, ...] = ()
    gaps: tuple[GapRecord, ...] = ()
    failed_otherwise: tuple[str, ...] = ()
    """Node ids of tests that failed without a FAIL among their checks: an error, a plain number."""
    schema: str = SCHEMA

    def tally(self) -> dict[Outcome, int]:
        """How many checks passed, failed, stayed inconclusive."""
        return {one: sum(c.outcome is one for c in self.checks) for one in Outcome}

    @property
    def outcome(self) -> Outcome:
        """FAIL when any check or test failed; PASS when the model-level checks passed.

        Without any, at least half of the checks must have. Otherwise INCONCLUSIVE: a run that
        could decide little must not look like a clean bill.
        """
        tally = self.tally()
        if tally[Outcome.FAIL] or self.failed_otherwise:
            return Outcome.FAIL
        of_model = [check.outcome for check in self.checks if check.subject.split()[0] == "model"]
        decided = tally[Outcome.PASS] and tally[Outcome.PASS] >= tally[Outcome.INCONCLUSIVE]
        if of_model:
            decided = all(one is Outcome.PASS for one in of_model)
        return Outcome.PASS if decided else Outcome.INCONCLUSIVE

    def to_json(self) -> str:
        """run.json's text."""
        plain = asdict(self) | {"outcome": self.outcome.value}
        return json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)


def check_from_json(plain: Mapping[str, Any]) -> Check:
    """A check as it came back from another process."""
    return Check(**{**plain, "outcome": Outcome(plain["outcome"])})


def read_run(path: Path) -> RunRecord:
    """A run.json as the record it was written from.

    Raises FileFormatError that says what is wrong and where.
    """
    plain = read_json(path, SCHEMA, kind="run.json")
    try:
        return _run_from_json(plain)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(path, f"a part is absent or malformed: {error}.") from None


def _run_from_json(plain: dict[str, Any]) -> RunRecord:
    plain.pop("outcome")
    return RunRecord(
        **plain
        | {
            "checks": tuple(check_from_json(one) for one in plain["checks"]),
            "model_scores": tuple(_part(ModelScore, one) for one in plain["model_scores"]),
            "prompts": tuple(_prompt_from_json(one) for one in plain["prompts"]),
            "stereotypes": tuple(_part(StereotypeRecord, one) for one in plain["stereotypes"]),
            "gaps": tuple(_part(GapRecord, one) for one in plain["gaps"]),
            "failed_otherwise": tuple(plain["failed_otherwise"]),
        }
    )


def _part(kind: type[Part], plain: Mapping[str, Any]) -> Part:
    """A record whose intervals came back as tables."""
    return kind(**{k: Interval(**v) if isinstance(v, dict) else v for k, v in plain.items()})


def _prompt_from_json(plain: dict[str, Any]) -> PromptRecord:
    score = plain["prompt_bias_score"]
    return PromptRecord(
        **plain
        | {
            "counts": {name: Counts(**one) for name, one in plain["counts"].items()},
            "prompt_bias_score": Interval(**score) if score else None,
            "images": tuple(ImageRecord(**one) for one in plain["images"]),
        }
    )
