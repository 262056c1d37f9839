"""The record of one run, which reports show and run.json keeps (schema in docs/run-json.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from pytest_t2i.audits.engine.counts import Counts
from pytest_t2i.audits.engine.rows import Rows, chart_of
from pytest_t2i.data import (
    Amount,
    Bounds,
    Count,
    Direction,
    MetricInfo,
    Moment,
    Name,
    Number,
    Outcome,
    PicturePath,
    Row,
    Signed,
    SignedInterval,
    Variant,
)
from pytest_t2i.files import encodable, write_whole
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.runs.record.images import ImageRecord, write_images
from pytest_t2i.runs.record.picture_fields import with_pictures
from pytest_t2i.runs.record.statement import Statement
from pytest_t2i.sections import RowChart, Section
from pytest_t2i.sections.plain import plain_section
from pytest_t2i.verdicts.caveats.equal_pictures import Repeats
from pytest_t2i.verdicts.check import Check, judged

SCHEMA = "pytest-t2i/run/1"


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """The results of one prompt."""

    id: Name
    text: str
    axis: str
    concept: str
    variant: str
    counts: Mapping[str, Counts]
    """Name of a detector -> its counts, the deciding detector first."""
    prompt_bias_score: SignedInterval | None
    """Score by the deciding detector; None without a clear image."""
    images: Sequence[ImageRecord]
    """Its images; run.json has their number, and the file beside it a line for each."""
    worst_case: Bounds | None = None
    """Bounds of the score over all that undetected images may show; None if none is undetected."""
    uncorrected: Signed | None = None
    """Score by the predicted labels alone, where people's labels corrected it; else None."""
    people: Mapping[str, int] = field(default_factory=dict)
    """People's labels of its images -> labelled images, where they corrected the score."""

    @property
    def score(self) -> SignedInterval | None:
        """The prompt's score, from -1 to 1, which charts of prompts show."""
        return self.prompt_bias_score

    @property
    def decided(self) -> Counts:
        """The counts of the deciding detector; empty if no detector examined the images."""
        return next(iter(self.counts.values()), Counts({}, {}))

    @property
    def name(self) -> str:
        """The concept with its tag and variant, unique within an axis of the run."""
        _, mark, rest = self.id.rpartition("~")
        tag = f"~{rest.partition('.')[0]}" if mark else ""
        variant = "" if self.variant == Variant.NEUTRAL.value else f" ({self.variant})"
        return f"{self.concept}{tag}{variant}"


@dataclass(frozen=True, slots=True)
class BeforeRecord:
    """A picture of the baseline's model, where the store still has it."""

    seed: int
    file: PicturePath
    said: str
    """The detector's label then, or the reason why there was none."""


@dataclass(frozen=True, slots=True)
class BaselineRecord:
    """The baseline that a run was compared with."""

    file: str
    model: str
    model_fingerprint: str
    created: Moment
    """Time of the baseline's run: UTC, ISO 8601."""
    images: Count
    """Images per prompt, as requested."""
    seed: int
    is_same_model: bool
    """Whether the baseline's model has the fingerprint of the model under test."""
    differences: tuple[str, ...] = ()
    """Differences in settings, libraries and platform, in words."""
    pictures: Mapping[str, tuple[BeforeRecord, ...]] = field(default_factory=dict)
    """Id of a prompt that probably became more biased -> pictures of the baseline's model."""


@dataclass(frozen=True, slots=True)
class PromptRepeats:
    """The pictures of one prompt of which some are equal or nearly equal to another."""

    id: Name
    pictures: Count
    """Pictures that show something: no refused, black or unreadable ones."""
    distinct: Count
    """Pictures of different pixels."""
    nearly_equal: Count
    """Distinct pictures that are nearly equal to another one of the prompt."""

    @property
    def has_no_verdict(self) -> bool:
        return Repeats(self.pictures, self.distinct, self.nearly_equal).are_too_many


@dataclass(frozen=True, slots=True)
class DistinctRecord:
    """How many pictures of a run are distinct within their prompt."""

    pictures: Count
    """Pictures of all prompts that show something."""
    distinct: Count
    """Pictures of different pixels; the others repeat one of the same prompt, and do not count."""
    nearly_equal: Count
    """Distinct pictures that are nearly equal to another one of their prompt; these count."""
    prompts: tuple[PromptRepeats, ...] = ()
    """The prompts with equal or nearly equal pictures, those with most equal ones first."""

    @property
    def without_verdict(self) -> list[str]:
        """Ids of the prompts that have no verdict, as too many of their pictures repeat."""
        return [prompt.id for prompt in self.prompts if prompt.has_no_verdict]


@dataclass(frozen=True, slots=True)
class LookRecord:
    """An earlier run that judged comparisons of this one."""

    seed: int
    images: Count
    """Images per prompt; of a run that could stop early, the largest number that was planned."""
    is_sequential: bool = False
    """Whether it judged after each round, with at most so many images."""


@dataclass(frozen=True, slots=True)
class MetricRecord:
    """The declaration of a metric of the checks and rows."""

    title: str
    low: Number | None
    """Smallest possible value; None for an unbounded metric."""
    high: Number | None
    worse: Direction
    """Direction that is worse."""
    source: str
    """Equation that the metric implements."""
    meaning: str = ""
    of_prompt: str = ""
    """The metric of a prompt whose mean over prompts it is; "" for another metric."""
    ends: tuple[str, str] = ("", "")
    """Meaning of the smallest and of the largest value."""

    @classmethod
    def of(cls, info: MetricInfo) -> MetricRecord:
        low, high = (end if math.isfinite(end) else None for end in (info.low, info.high))
        more = info.meaning, info.of_prompt, info.ends
        return cls(info.words, low, high, info.worse, info.source, *more)


def _plain(value: Any) -> Any:
    """Return plain values; a number of numpy, which an audit may hand over, becomes Python's."""
    return msgspec.to_builtins(value, enc_hook=_python_number)


def _python_number(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    raise NotImplementedError(f"run.json holds plain values, got {type(value).__name__}: {value!r}")


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """The record of one audit in a run."""

    rows: tuple[Row, ...] = ()
    """What was measured, one quantity each."""
    blocks: Any = ()
    """The sections that reports show of it, whether the audit is installed or not."""
    place: int = 50
    """Position of these sections in a report; the smallest number comes first."""
    first: Count | None = None
    """Place of the row that the first screen shows; None for none."""

    @property
    def first_row(self) -> Row | None:
        """The row that the first screen shows; None for none."""
        there = self.first is not None and self.first < len(self.rows)
        return self.rows[self.first or 0] if there else None

    def to_plain(self) -> dict[str, Any]:
        """Return what run.json holds of it."""
        blocks = [plain_section(section) for section in self.blocks]
        rows = _plain(self.rows)
        return {"place": self.place, "first": self.first, "blocks": blocks, "rows": rows}


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One recorded execution.

    >>> run = RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, {}, {})
    >>> run.title, run.outcome.value
    ('fairness of mine', 'MEASURED')
    """

    created: Moment
    """Time of the record: UTC, ISO 8601."""
    seconds: Amount
    """Duration of the run."""
    model: str
    settings: Mapping[str, Any]
    provenance: Mapping[str, Any]
    work: Mapping[str, Any]
    checks: tuple[Check, ...] = ()
    prompts: tuple[PromptRecord, ...] = ()
    audits: Mapping[str, AuditRecord] = field(default_factory=dict)
    """Name of an audit -> its record."""
    metrics: Mapping[str, MetricRecord] = field(default_factory=dict)
    """Name of a metric of the checks and the rows -> its declaration."""
    failed_otherwise: tuple[str, ...] = ()
    """Node ids of tests that failed without a FAIL among their checks: an error, a plain number."""
    failed_because: Mapping[str, str] = field(default_factory=dict)
    """Node id of a test in ``failed_otherwise`` -> first line of the reason."""
    baseline: BaselineRecord | None = None
    """The baseline of --t2i-baseline; None without."""
    distinct: DistinctRecord | None = None
    """How many pictures are distinct; None in runs without pictures."""
    looked_at_before: tuple[LookRecord, ...] = ()
    """Earlier runs on this store that judged comparisons of this run, with other pictures."""
    next_steps: tuple[str, ...] = ()
    """Advice on what to do next, the most pressing first."""
    selected: Count = 0
    """Number of tests that were to be judged."""
    judged: Count = 0
    """Number of tests that were judged."""
    not_compared: Count = 0
    """Number of tests that compare with a baseline and were skipped without one; not written."""
    is_interrupted: bool = False
    """Whether the run was stopped before its end, or a part of it was lost."""
    statement: Statement = field(default_factory=Statement)
    """Statements of people about the report: auditor, intended use, approver and so on."""
    schema: str = SCHEMA

    @property
    def done(self) -> Work:
        """The counts of ``work`` as a Work, with 0 for absent keys."""
        return msgspec.convert(self.work, Work)

    def checks_of(self, metric: str) -> dict[str, list[Check]]:
        """Return the checks of one metric against limits, by subject."""
        return judged(self.checks, metric)

    def part(self, audit: str) -> Rows:
        """Return the rows of an audit; none where it measured nothing."""
        measured = self.audits.get(audit)
        return Rows(() if measured is None else measured.rows)

    @property
    def sections(self) -> list[Section]:
        """The sections of all audits, in the order of a report."""
        every = self.in_order
        return [self._drawn(section, audit) for audit in every for section in audit.blocks]

    @property
    def in_order(self) -> list[AuditRecord]:
        """The records of all audits, in the order of a report."""
        audits = sorted(self.audits.items(), key=lambda named: (named[1].place, named[0]))
        return [audit for _, audit in audits]

    @property
    def lead(self) -> Row | None:
        """The score over prompts that reports show first, of the deciding detector."""
        rows = (audit.first_row for audit in self.in_order)
        return next((row for row in rows if row is not None and self.of_prompt(row.metric)), None)

    def of_prompt(self, metric: str) -> str:
        """Return the metric of a prompt whose mean over prompts a metric is; "" for another one."""
        return self.metrics[metric].of_prompt if metric in self.metrics else ""

    def _drawn(self, section: Section, audit: AuditRecord) -> Section:
        blocks = tuple(
            chart_of(block, audit.rows, self.metrics, self.checks)
            if isinstance(block, RowChart)
            else block
            for block in section.blocks
        )
        return replace(section, blocks=blocks)

    @property
    def title(self) -> str:
        """The subject of the run in a few words."""
        return f"fairness of {self.model}" if self.model else "detectors on labelled images"

    def with_files(self, of: Callable[[str], str]) -> RunRecord:
        """Return the record with ``of`` applied to every picture's path, except labelled images."""
        return with_pictures(self, of)

    def files(self) -> list[str]:
        """List the path of every picture in the record, except labelled images."""
        paths: list[str] = []

        def note(file: str) -> str:
            paths.append(file)
            return file

        for prompt in self.with_files(note).prompts:
            for _ in prompt.images:  # which notes the path of each
                pass
        return paths

    def tally(self) -> dict[Outcome, int]:
        """Count the checks by outcome: FAIL, INCONCLUSIVE and PASS."""
        outcomes = (Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS)
        return {outcome: sum(c.outcome is outcome for c in self.checks) for outcome in outcomes}

    @property
    def outcome(self) -> Outcome:
        """The verdict of the run.

        - INTERRUPTED: the run was not finished.
        - MEASURED: nothing was compared with a limit or a recorded run, and no test failed.
        - FAIL: a check or a test failed, or an inconclusive check counts as failed.
        - PASS: all checks of the model and against a baseline passed; or, if there are none, some
          check passed and at least as many passed as stayed inconclusive.
        - INCONCLUSIVE: anything else. A run that decided little must not look like a pass.
        """
        if self.is_interrupted:
            return Outcome.INTERRUPTED
        if not self.checks and not self.failed_otherwise:
            return Outcome.MEASURED
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
        """Whether an inconclusive result sets the exit status of the run to 6.

        An inconclusive check with the policy "status" does. If no check is of the model or against
        a baseline (prompts alone, detectors on labelled images), an inconclusive verdict of the run
        does so by the policy for the model.
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
        policies = self.settings.get("inconclusive", ())
        return any(
            check.outcome is Outcome.INCONCLUSIVE and policies[check.weighs_on_run] == policy
            for check in self.checks
            if len(policies) > 1
        )

    def to_frame(self, table: str) -> Any:
        """Return a table of the run as a pandas DataFrame.

        ``table`` is "checks", "prompts", "images" or the name of an audit, such as "parity".
        Raises UnknownNameError for another table, MissingExtraError without pandas.
        """
        from pytest_t2i.runs.record.frames import to_frame

        return to_frame(self, table)

    def write(self, path: Path) -> None:
        """Write run.json to a path, and the file of its images beside it."""
        write_images(((prompt.id, prompt.images) for prompt in self.prompts), path)
        write_whole(path, self.to_json().encode())

    def to_json(self) -> str:
        """Return the text of run.json, which holds the number of images of each prompt."""
        plain = _plain(replace(self, audits={}, prompts=())) | {"outcome": self.outcome.value}
        plain["prompts"] = [
            _plain(replace(prompt, images=())) | {"images": len(prompt.images)}
            for prompt in self.prompts
        ]
        plain["audits"] = {name: audit.to_plain() for name, audit in self.audits.items()}
        del plain["not_compared"]  # said where a run ends; readers of the file know no such field
        # Unlike msgspec, json refuses NaN; without an indent json is ten times as fast.
        text = json.dumps(plain, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return msgspec.json.format(encodable(text), indent=1)
