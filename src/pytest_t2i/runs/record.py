"""The record of one run: what reports show and run.json keeps (schema in docs/run-json.md).

Over 300 lines: the record of a run is one document, and its parts are read together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import msgspec

from pytest_t2i.audits.label_counts import Counts
from pytest_t2i.data import (
    Amount,
    Bounds,
    Count,
    Detection,
    Moment,
    Name,
    Outcome,
    PicturePath,
    Signed,
    SignedInterval,
    Variant,
)
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.runs.picture_paths import with_pictures
from pytest_t2i.runs.statement import Statement
from pytest_t2i.verdicts.check import Check, judged

SCHEMA = "pytest-t2i/run/3"


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """One image of a prompt and what each detector says of it."""

    seed: int
    file: PicturePath | None
    """Path of the PNG; None when the model refused."""
    detections: Mapping[str, Detection]
    """Detector name -> what it says; scores are kept of the deciding detector alone. {} where none
    has looked."""
    revised_prompt: str | None = None
    """What a service says that it drew; None where it does not say."""


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """Everything measured on one prompt."""

    id: Name
    text: str
    axis: str
    concept: str
    variant: str
    counts: Mapping[str, Counts]
    """Per detector."""
    prompt_bias_score: SignedInterval | None
    """By the deciding detector; None without a clear image."""
    images: tuple[ImageRecord, ...]
    worst_case: Bounds | None = None
    """Where the score lies whatever the undetected images show; None if none are."""
    uncorrected: Signed | None = None
    """The score by the predicted labels alone, where people's labels corrected it; else None."""

    @property
    def decided(self) -> Counts:
        """By the detector whose word counts; nothing where none looked."""
        return next(iter(self.counts.values()), Counts({}, {}))

    @property
    def name(self) -> str:
        """The concept with what tells it from the same one in another sentence, and its variant."""
        tag = self.id.rpartition("~")
        told = f"~{tag[2].partition('.')[0]}" if tag[1] else ""
        variant = "" if self.variant == Variant.NEUTRAL.value else f" ({self.variant})"
        return f"{self.concept}{told}{variant}"


@dataclass(frozen=True, slots=True)
class BeforeRecord:
    """A picture of the baseline's model, where the store still has it."""

    seed: int
    file: PicturePath
    said: str
    """What the detector said then: a label, or why there is none."""


@dataclass(frozen=True, slots=True)
class BaselineRecord:
    """What a run was compared with."""

    file: str
    model: str
    model_fingerprint: str
    created: Moment
    """UTC, ISO 8601."""
    images: Count
    """Per prompt, as they were asked for."""
    seed: int
    is_same_model: bool
    """Whether its fingerprint is that of the model under test."""
    differences: tuple[str, ...] = ()
    """What differs in settings, libraries and platform."""
    pictures: Mapping[str, tuple[BeforeRecord, ...]] = field(default_factory=dict)
    """Prompt id -> pictures of then, of the prompts that probably became more biased."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """What one audit keeps of a run."""

    version: Count
    """Version of the record: the audit reads older ones, too."""
    record: Any
    """Its frozen dataclass; plain values where the audit is not installed."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One recorded execution.

    >>> run = RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, {}, {})
    >>> run.title, run.outcome.value
    ('fairness of mine', 'INCONCLUSIVE')
    """

    created: Moment
    """UTC, ISO 8601."""
    seconds: Amount
    model: str
    settings: Mapping[str, Any]
    provenance: Mapping[str, Any]
    work: Mapping[str, Any]
    checks: tuple[Check, ...] = ()
    prompts: tuple[PromptRecord, ...] = ()
    audits: Mapping[str, AuditRecord] = field(default_factory=dict)
    """Name of an audit -> what it keeps."""
    failed_otherwise: tuple[str, ...] = ()
    """Node ids of tests that failed without a FAIL among their checks: an error, a plain number."""
    failed_because: Mapping[str, str] = field(default_factory=dict)
    """Node id -> first line of why, of those in ``failed_otherwise``."""
    baseline: BaselineRecord | None = None
    """What --t2i-baseline was given; None without."""
    next_steps: tuple[str, ...] = ()
    """What to do next, the most pressing first."""
    selected: Count = 0
    """Tests that were to be judged."""
    judged: Count = 0
    """Tests that were."""
    is_interrupted: bool = False
    """Whether the run was stopped before its end, or a part of it was lost."""
    statement: Statement = field(default_factory=Statement)
    """What people state of the report: auditor, intended use, approver and so on."""
    schema: str = SCHEMA

    @property
    def done(self) -> Work:
        """``work`` with 0 for what it does not say."""
        return msgspec.convert(self.work, Work)

    def checks_of(self, metric: str) -> dict[str, list[Check]]:
        """Checks of one metric against limits, by what was measured."""
        return judged(self.checks, metric)

    def part(self, audit: str) -> Any:
        """What an audit keeps of the run; None where it keeps nothing or is not installed."""
        known = self.audits.get(audit)
        return known.record if known is not None and is_dataclass(known.record) else None

    @property
    def title(self) -> str:
        """What the run was about, in a few words."""
        return f"fairness of {self.model}" if self.model else "detectors on labelled images"

    def with_files(self, of: Callable[[str], str]) -> RunRecord:
        """The record with the file of every picture exchanged, labelled images left alone."""
        return with_pictures(self, of)

    def files(self) -> list[str]:
        """The file of every picture that is named, labelled images left out."""
        named: list[str] = []

        def note(file: str) -> str:
            named.append(file)
            return file

        self.with_files(note)
        return named

    def tally(self) -> dict[Outcome, int]:
        """How many checks passed, failed, stayed inconclusive."""
        outcomes = (Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS)
        return {outcome: sum(c.outcome is outcome for c in self.checks) for outcome in outcomes}

    @property
    def outcome(self) -> Outcome:
        """The verdict of the run.

        INTERRUPTED when it was not finished; FAIL when a check or a test failed, or an inconclusive
        one counts as failed; else what the checks of the model and against a baseline came to:
        PASS when all of them passed. Without any, at least half of the checks must have. A run that
        could decide little must not look like a clean bill.
        """
        if self.is_interrupted:
            return Outcome.INTERRUPTED
        tally = self.tally()
        if tally[Outcome.FAIL] or self.failed_otherwise or self._inconclusive("fail"):
            return Outcome.FAIL
        weighing = [check.outcome for check in self.checks if check.weighs_on_run]
        if weighing:
            decided = all(outcome is Outcome.PASS for outcome in weighing)
        else:
            decided = 0 < tally[Outcome.PASS] >= tally[Outcome.INCONCLUSIVE]
        return Outcome.PASS if decided else Outcome.INCONCLUSIVE

    @property
    def sets_status(self) -> bool:
        """Whether what is inconclusive asks for the exit status that says so.

        That is a check whose policy it is; or, where no check is of the model or against a baseline
        (prompts alone, detectors on labelled images), the verdict of the run itself, which then
        goes by the policy of the model's.
        """
        return self._inconclusive("status") or self._is_inconclusive_as_a_whole()

    def _is_inconclusive_as_a_whole(self) -> bool:
        policies = self.settings.get("inconclusive", ())
        return (
            any(policy in ("status", "fail") for policy in policies[1:])
            and self.outcome is Outcome.INCONCLUSIVE
            and self.tally()[Outcome.INCONCLUSIVE] > 0
            and not any(check.weighs_on_run for check in self.checks)
        )

    def _inconclusive(self, policy: str) -> bool:
        """Whether a check is inconclusive whose policy is this one."""
        policies = self.settings.get("inconclusive", ())
        return any(
            check.outcome is Outcome.INCONCLUSIVE and policies[check.weighs_on_run] == policy
            for check in self.checks
            if len(policies) > 1
        )

    def to_frame(self, table: str) -> Any:
        """A pandas DataFrame: "checks", "prompts", "images", "scores" and so on, or an audit's.

        Raises UnknownNameError for another table, MissingExtraError without pandas.
        """
        from pytest_t2i.runs.frames import to_frame

        return to_frame(self, table)

    def to_json(self) -> str:
        """run.json's text."""
        plain = msgspec.to_builtins(self) | {"outcome": self.outcome.value}
        # Without an indent json is ten times as fast, and refuses NaN, which msgspec does not.
        text = json.dumps(plain, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return msgspec.json.format(text, indent=1)
