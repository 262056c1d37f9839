"""What was decided: one comparison that a test made, with its verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pytest_t2i.data import Bounds, Outcome, Verdict
from pytest_t2i.verdicts.measurement import Change, Measurement, MovedPrompt


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
    lean: float | None = None
    """Of an INCONCLUSIVE: probability that it lies beyond; never a verdict."""
    leaning: str = ""
    """"fail", "pass" or "open"; "" where no lean is known."""
    paper: float | None = None
    """The paper's plug-in estimate, where it differs."""
    floor: float | None = None
    """What a perfectly fair model would show on average with as many images."""
    message: str = ""
    against: str = "limit"
    """"limit" or "baseline"."""
    worst_case: Bounds | None = None
    """Where the score of these images lies whatever the undetected show; None if none are."""
    remarks: tuple[str, ...] = ()
    """Lines for the failure text: the most biased prompts, where the pictures are."""
    before: float | None = None
    """Against a baseline: the score as recorded; the estimate is ``after`` minus it."""
    after: float | None = None
    """Against a baseline: the score now, estimated as ``before`` is."""
    decided_by: str = ""
    """Against a baseline: "margin", "permutation test" or "identical pictures"."""
    moved: tuple[MovedPrompt, ...] = ()
    """Against a baseline: prompts that probably became more biased, the likeliest first."""
    hangs_on_undetected: bool = False
    """Whether the outcome is open for want of labels, not of images."""

    @property
    def weighs_on_run(self) -> bool:
        """Whether the verdict of the run hangs on it: of the model, or against a baseline."""
        return self.is_of_model or self.against == "baseline"

    @property
    def is_of_model(self) -> bool:
        """Whether it is about the whole model and not about one prompt of it."""
        return self.subject.split()[0] == "model"


def check_of_change(test: str, measurement: Measurement, change: Change, operator: str) -> Check:
    """The record of a comparison with a baseline; the measurement is of the change."""
    return replace(
        check_of(test, measurement, change.verdict, operator, "baseline"),
        before=change.before,
        after=change.after,
        decided_by=change.decided_by,
        moved=change.moved,
    )


def check_of(
    test: str, measurement: Measurement, verdict: Verdict, operator: str, against: str
) -> Check:
    """The record of a verdict on a measurement."""
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
        p_value=verdict.p_value,
        images_to_decide=verdict.images_to_decide,
        lean=verdict.lean,
        leaning=verdict.leaning,
        paper=measurement.paper,
        floor=measurement.floor,
        message=verdict.message,
        against=against,
        worst_case=measurement.worst_case,
        remarks=measurement.remarks,
        hangs_on_undetected=verdict.hangs_on_undetected,
    )
