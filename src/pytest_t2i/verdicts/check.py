"""The check of a test: what was compared, its verdict, and where it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_t2i.data import (
    Count,
    Interval,
    Level,
    Limit,
    Name,
    Number,
    Outcome,
    Share,
    check_ends,
)
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.caveats.built_in import BUILT_IN
from pytest_t2i.verdicts.caveats.caveat import REMARK, Caveat
from pytest_t2i.verdicts.caveats.how_decided import decided_by, how_decided
from pytest_t2i.verdicts.caveats.moved_prompts import caveat_of
from pytest_t2i.verdicts.caveats.run_level import LevelShare
from pytest_t2i.verdicts.caveats.seams import Question
from pytest_t2i.verdicts.measurement import (
    Against,
    Change,
    Compared,
    DecidedBy,
    Measurement,
    Sign,
)
from pytest_t2i.verdicts.reach_verdict import Found, Reached, reach


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
    before: Number | None = None
    """Against a baseline: the recorded score; ``estimate`` is ``after`` minus ``before``."""
    after: Number | None = None
    """Against a baseline: the score now, estimated in the same way as ``before``."""
    is_of_model: bool = False
    """Whether the subject is the whole model, not one prompt."""
    author: str = ""
    """Person responsible for the limit; "" where nobody is named."""
    caveats: tuple[Caveat, ...] = ()
    """What qualifies the verdict, and what the measurement says beside it."""

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
    def remarks(self) -> tuple[str, ...]:
        """What the caveats say, one line each."""
        return tuple(caveat.message for caveat in self.caveats if caveat.message)

    @property
    def lacks(self) -> str:
        """What the check lacks, where more images would not decide it; else ""."""
        return "; ".join(caveat.lacks for caveat in self.caveats if caveat.lacks)

    @property
    def decided_by(self) -> DecidedBy | None:
        """What decided a comparison with a recorded run; None for a limit."""
        return decided_by(self.caveats)

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


NO_INTERVAL: Mapping[str, Any] = MappingProxyType(
    {"estimate": None, "low": None, "high": None, "level": None, "method": "", "n": 0}
)
"""The fields of an Interval where there is none."""


def check_of(test: str, reached: Reached, operator: Sign) -> Check:
    measurement, verdict = reached.question.measurement, reached.verdict
    interval, change = verdict.interval, reached.change
    return Check(
        test=test,
        metric=measurement.name,
        subject=measurement.subject,
        outcome=verdict.outcome,
        **(NO_INTERVAL if interval is None else asdict(interval)),
        operator=operator,
        bound=verdict.limit.bound,
        reason=verdict.limit.reason,
        author=verdict.limit.author,
        p_value=verdict.p_value,
        images_to_decide=verdict.images_to_decide,
        paper=None if change else measurement.paper,
        floor=None if change else measurement.floor,
        message=verdict.message,
        against=reached.question.against,
        before=change.before if change else None,
        after=change.after if change else None,
        is_of_model=measurement.is_of_model,
        caveats=(*reached.caveats, *_of_measurement(measurement, change)),
    )


def _of_measurement(measurement: Measurement, change: Change | None) -> Iterator[Caveat]:
    if change is not None:
        yield how_decided(change.decided_by)
        yield from map(caveat_of, change.moved)
    for line in (*(change.remarks if change else ()), *measurement.remarks):
        yield Caveat(REMARK, line)


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

    run: object = None
    """What knows the pictures, the detector and earlier runs of the test; None outside of a run."""
    caveats: tuple[object, ...] = BUILT_IN
    """What qualifies verdicts (``built_in.all_caveats``)."""


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


def checked(
    measurement: Measurement,
    against: Against,
    bound: float | None,
    operator: Sign,
    decide: Callable[[Measurement, float], Found],
    recorded: Baseline | None = None,
) -> Check:
    """Return the check of a comparison of the running test, which spends its part of the error.

    ``decide`` returns what the evidence says at a level.
    """
    context = current()
    part = None if context.share is None else context.share.spend()
    question = Question(
        measurement, against, bound, context.confidence, context.run, recorded, part
    )
    return check_of(context.test, reach(question, context.caveats, decide), operator)


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
