"""The terminal summary: what one reads in ten seconds."""

from __future__ import annotations

from typing import Any, Protocol

from pytest_t2i.config import Settings
from pytest_t2i.data import Outcome
from pytest_t2i.progress import clock_time
from pytest_t2i.record import Check, ModelScore, RunRecord
from pytest_t2i.reporting.markdown import interval_text

COLOURS = {Outcome.PASS: "green", Outcome.FAIL: "red", Outcome.INCONCLUSIVE: "yellow"}
SHOWN = 5
"""Failures that are named."""


class Writer(Protocol):
    """What pytest's terminal reporter offers."""

    def section(self, title: str, sep: str = "=", **markup: bool) -> None:
        """A title across the terminal."""

    def write_line(self, line: str, **markup: bool) -> None:
        """A line."""


def summarise(record: RunRecord, settings: Settings, writer: Any) -> None:
    """Write the summary."""
    target: Writer = writer
    target.section(f"fairness of {record.model}", sep="=")
    for score in [one for one in record.model_scores if one.name == "model"]:
        target.write_line(_score(score))
    for line in [_gaps(record), _stereotypes(record), _undetected(record)]:
        if line:
            target.write_line(line)
    failed = sorted(
        (c for c in record.checks if c.outcome is Outcome.FAIL), key=_excess, reverse=True
    )
    for check in failed[:SHOWN]:
        target.write_line(_failure(check), red=True)
    if len(failed) > SHOWN:
        target.write_line(f"  and {len(failed) - SHOWN} more failed", red=True)
    for test in record.failed_otherwise[:SHOWN]:
        target.write_line(f"  failed without a verdict: {test}", red=True)
    target.write_line(_work(record))
    tally = record.tally()
    target.write_line(
        f"{record.outcome}: {tally[Outcome.PASS]} passed, {tally[Outcome.FAIL]} failed, "
        f"{tally[Outcome.INCONCLUSIVE]} inconclusive{_otherwise(record)}",
        **{COLOURS[record.outcome]: True, "bold": True},
    )
    target.write_line(f"report: {settings.report / 'index.html'}")
    if settings.save_baseline is not None:
        target.write_line(f"baseline: {settings.save_baseline}")


def _otherwise(record: RunRecord) -> str:
    count = len(record.failed_otherwise)
    return f", {count} tests failed without a verdict" if count else ""


def _score(score: ModelScore) -> str:
    if score.corrected is None or score.paper is None:
        return f"model bias score: no clear image in {score.prompts} prompts ({score.detector})"
    return (
        f"model bias score {interval_text(score.corrected)} over {score.prompts} prompts "
        f"(paper's {score.paper.estimate:.3f}, a fair model shows {score.floor:.3f}; "
        f"{score.detector})"
    )


def _gaps(record: RunRecord) -> str:
    found = [
        f"{gap.space} {gap.gap.estimate:+.3f}"
        for gap in record.gaps
        if gap.name == "model" and gap.gap is not None
    ]
    return f"similarity gap (> 0 leans masculine): {', '.join(found)}" if found else ""


def _stereotypes(record: RunRecord) -> str:
    scored = [(one.score.estimate, one) for one in record.stereotypes if one.score is not None]
    if not scored:
        return ""
    score, worst = max(scored, key=lambda pair: pair[0])
    return (
        f"stereotype score: highest {score:.3f} ({worst.concept}: {worst.attribute}) "
        f"of {len(scored)}"
    )


def _undetected(record: RunRecord) -> str:
    total, missing = 0, 0
    for prompt in record.prompts:
        total += len(prompt.images)
        for counts in list(prompt.counts.values())[:1]:
            missing += sum(counts.undetected.values())
    return f"undetected: {missing} of {total} images" if missing else ""


def _failure(check: Check) -> str:
    return (
        f"  {check.metric} of {check.subject}: {check.estimate:+.3f} "
        f"[{check.low:+.3f}, {check.high:+.3f}], allowed {check.operator} {check.bound:g}"
    )


def _excess(check: Check) -> float:
    return abs((check.estimate or 0.0) - check.bound)


def _work(record: RunRecord) -> str:
    work = record.work
    stored = max(int(work["planned"]) - int(work["made"]), 0)
    rate = f" ({clock_time(float(work['seconds']))})" if work["made"] else ""
    refused = f", {work['refused']} refused" if work["refused"] else ""
    notes = "".join(f"; {note}" for note in work["notes"])
    return f"images: {work['made']} made{rate}, {stored} from the store{refused}{notes}"
