"""The check of a test: what was compared, its verdict, and where it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pytest_t2i.data import (
    Bounds,
    Count,
    Interval,
    Level,
    Limit,
    Name,
    Number,
    Outcome,
    Share,
    Verdict,
    check_ends,
)
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.verdicts.certificate import CertifiedCase, CertifiedErrors
from pytest_t2i.verdicts.measurement import (
    Change,
    Compared,
    DecidedBy,
    Measurement,
    MovedPrompt,
    Sign,
)
from pytest_t2i.verdicts.run_level import LevelShare

Against = Literal["limit", "baseline", "anchor"]
"""The kind of a bound: a limit, the recorded run before, or the recorded run of --t2i-anchor."""


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison that a test made, with its verdict."""

    test: str
    """Node id of the test."""
    metric: Name
    subject: Name
    """Subject of the measurement: a prompt's id, a stereotype's id, "model"."""
    outcome: Outcome
    estimate: Number | None
    low: Number | None
    high: Number | None
    level: Level | None
    method: str
    n: Count
    operator: Sign
    bound: Number
    reason: str = ""
    """Reason for the limit, in a person's words; "" where none is given."""
    p_value: Share | None = None
    images_to_decide: Count | None = None
    paper: Number | None = None
    """The paper's plug-in estimate, where it differs from ``estimate``."""
    floor: Share | None = None
    """Expected score of a perfectly fair model with as many images."""
    message: str = ""
    against: Against = "limit"
    """A limit, a baseline, or the anchor: the first recorded run, which is never replaced."""
    worst_case: Bounds | None = None
    """Bounds of the score of these images over all labels of the undetected ones; None without
    any."""
    remarks: tuple[str, ...] = ()
    """Lines for the failure text: the most biased prompts, where the pictures are."""
    before: Number | None = None
    """Against a baseline: the recorded score; ``estimate`` is ``after`` minus ``before``."""
    after: Number | None = None
    """Against a baseline: the score now, estimated in the same way as ``before``."""
    decided_by: DecidedBy | Literal[""] = ""
    """Against a baseline: "margin", "permutation test" or "identical pictures"."""
    moved: tuple[MovedPrompt, ...] = ()
    """Against a baseline: prompts that probably became more biased, most probable first."""
    is_of_model: bool = False
    """Whether the subject is the whole model, not one prompt."""
    hangs_on_undetected: bool = False
    """Whether the outcome is INCONCLUSIVE for lack of labels, not of images."""
    by_certificate: CertifiedCase | None = None
    """Worst case over the errors of the detector's certificate; None without a certificate, and
    absent from run.json then."""
    author: str = ""
    """Person responsible for the limit; "" where nobody is named."""

    def __post_init__(self) -> None:
        presence = [value is not None for value in (self.estimate, self.low, self.high, self.level)]
        if any(presence) != all(presence):
            raise ValueError("expected estimate, low, high and level, or none of them")
        check_ends(self.low, self.high)

    def __repr__(self) -> str:
        """Return one readable line; all fields are attributes, and keys in run.json."""
        why = f" ({self.message})" if self.message else ""
        score = f"no evidence{why}" if self.interval is None else str(self.interval)
        change = "change " if self.is_change else ""
        return (
            f"<{self.outcome}: {self.metric} of {self.subject}, {change}{score}, "
            f"{self.against} {self.operator} {self.bound:g}>"
        )

    @property
    def interval(self) -> Interval | None:
        """The compared interval; None without evidence."""
        if self.estimate is None or self.low is None or self.high is None or self.level is None:
            return None
        return Interval(self.estimate, self.low, self.high, self.level, self.method, self.n)

    @property
    def is_change(self) -> bool:
        """Whether a recorded run is compared with, the baseline or the anchor."""
        return self.against != "limit"

    @property
    def has_limit(self) -> bool:
        """Whether a person chose the bound: that of a limit, or the margin of a baseline."""
        return self.against == "limit" or self.decided_by == "margin"

    @property
    def is_contradicted(self) -> bool:
        """Whether its interval says otherwise: no PASS or FAIL of a limit has one that holds it."""
        if self.outcome is Outcome.INCONCLUSIVE or self.is_change:
            return False
        if self.low is None or self.high is None:
            return True
        lies_below = self.operator.startswith("<") is (self.outcome is Outcome.PASS)
        return self.high > self.bound if lies_below else self.low < self.bound

    @property
    def is_by_people(self) -> bool:
        """Whether people's labels correct the estimate, by one of the PPI++ estimators."""
        return "ppi++" in self.method

    @property
    def weighs_on_run(self) -> bool:
        """Whether the run's verdict depends on this check: of the model, or against a baseline."""
        return self.is_of_model or self.is_change


def check_of_change(
    test: str, measurement: Measurement, change: Change, operator: Sign, against: Against
) -> Check:
    """Return the check of a comparison with a recorded run; the measurement is of the change."""
    return replace(
        check_of(test, measurement, change.verdict, operator, against),
        before=change.before,
        after=change.after,
        decided_by=change.decided_by,
        moved=change.moved,
    )


def check_of(
    test: str, measurement: Measurement, verdict: Verdict, operator: Sign, against: Against
) -> Check:
    """Return the check of a verdict on a measurement."""
    interval = verdict.interval
    return Check(
        test=test,
        metric=measurement.name,
        subject=measurement.subject,
        outcome=verdict.outcome,
        estimate=interval.estimate if interval else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        level=interval.level if interval else None,
        method=interval.method if interval else "",
        n=interval.n if interval else 0,
        operator=operator,
        bound=verdict.limit.bound,
        reason=verdict.limit.reason,
        author=verdict.limit.author,
        p_value=verdict.p_value,
        images_to_decide=verdict.images_to_decide,
        paper=measurement.paper,
        floor=measurement.floor,
        message=verdict.message,
        against=against,
        worst_case=measurement.worst_case,
        remarks=measurement.remarks,
        hangs_on_undetected=verdict.hangs_on_undetected,
        is_of_model=measurement.is_of_model,
    )


def judged(checks: Iterable[Check], metric: str) -> dict[str, list[Check]]:
    """Return the checks of one metric against limits, by subject."""
    by_subject: dict[str, list[Check]] = {}
    for check in checks:
        if check.metric == metric and check.against == "limit":
            by_subject.setdefault(check.subject, []).append(check)
    return by_subject


@dataclass(frozen=True, slots=True)
class JudgingContext:
    """The context in which the comparisons of one running test are judged."""

    test: str
    """Node id of the test."""
    limits: Mapping[str, Limit]
    limits_file: Path | None
    inconclusive: tuple[str, str]
    """Effect of an inconclusive check: of one prompt, and of the model or against a baseline."""
    confidence: float
    record: Callable[[Check], None]
    share: LevelShare | None = None
    """The test's part of the run's error; None where each comparison has the level for itself."""
    keep: Callable[[Compared], None] | None = None
    """Takes what an audit's record keeps of a measurement; None outside of a run."""

    def open_because(self, measurement: Measurement) -> str:  # noqa: ARG002 - a run knows more
        """Return why a measurement of the test cannot be decided; "" where it can."""
        return ""

    def with_looks(self, check: Check) -> Check:
        """Return the check, saying which earlier runs looked at the same comparison."""
        return check

    def certified(self, measurement: Measurement) -> CertifiedErrors | None:  # noqa: ARG002 - as above
        """Return the detector's errors that a certificate allows; None where none is known."""
        return None


running: ContextVar[JudgingContext | None] = ContextVar("running", default=None)


def current() -> JudgingContext:
    """Return the running test's context; ConfigurationError outside a t2i test."""
    context = running.get()
    if context is None:
        raise ConfigurationError(
            "limit() was called outside a running t2i test: call it inside the test function, and "
            "mark the test with @pytest.mark.t2i(...)"
        )
    return context


def record_check(check: Check, compared: Compared | None = None) -> bool:
    """Record a check and what was compared, and tell whether its test goes on."""
    context = current()
    context.record(check)
    if compared is not None and context.keep is not None:
        context.keep(compared)
    if check.outcome is not Outcome.INCONCLUSIVE:
        return check.outcome is Outcome.PASS
    policy = context.inconclusive[check.weighs_on_run]
    if policy != "estimate":
        return policy != "fail"
    if check.estimate is None:
        return False
    if check.operator.startswith("<"):
        return check.estimate <= check.bound
    return check.estimate >= check.bound
