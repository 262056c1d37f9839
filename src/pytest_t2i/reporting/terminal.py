"""The terminal summary: what one reads in ten seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_t2i.adapters.support.escaping import line
from pytest_t2i.audits.audit import Audit
from pytest_t2i.data import Outcome
from pytest_t2i.files import from_here
from pytest_t2i.generation.heartbeat import clock_time
from pytest_t2i.reporting.allowed import unreasoned
from pytest_t2i.reporting.audit_sections import sections_of
from pytest_t2i.reporting.baseline import counts_words, moved_prompts, whose
from pytest_t2i.reporting.formatting import (
    change_words,
    detector_names,
    early_stopping,
    excess,
    images_of,
    lean_counts,
    leaning,
    metric_words,
    several,
    undetected_of,
)
from pytest_t2i.reporting.run_counts import failed, made_images, paid, tried, watched
from pytest_t2i.reporting.run_facts import canary_words
from pytest_t2i.reporting.terminal_sections import COLOURS, summary_lines
from pytest_t2i.reporting.verdict_section import headline
from pytest_t2i.reporting.wrapping import wrapped
from pytest_t2i.runs.canary import CHANGED
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.sections import Section
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.measurement import MovedPrompt

SHOWN = 3
"""Failures that are named; the page has them all."""
ANSWERED = 10
"""Lines in which it is said whether the model is fair, what is worst and what to do next."""


def summarise(
    record: RunRecord,
    settings: Settings,
    writer: Any,
    *,
    width: int | None = None,
    audits: Sequence[Audit[Any]] | None = None,
) -> None:
    """Is it fair, what is worst, what to do next; lines are broken at ``width`` columns.

    ``writer`` is pytest's terminal reporter.
    """
    writer.section(line(record.title), sep="=")
    for told, markup in _lines(record, width, sections_of(record, audits)):
        for part in wrapped(line(told), width):
            writer.write_line(part, **markup)
    # Paths stay whole: they are clicked on.
    writer.write_line(line(f"report: {from_here(settings.report / 'index.html')}"))
    if settings.save_baseline is not None:
        writer.write_line(line(f"baseline: {from_here(settings.save_baseline)}"))


def summary_text(record: RunRecord, width: int, audits: Sequence[Audit[Any]] | None = None) -> str:
    """The same as one text, without colours."""
    told = [record.title, *(text for text, _ in _lines(record, width, sections_of(record, audits)))]
    return "\n".join(part for text in told for part in wrapped(line(text), width))


def _lines(
    record: RunRecord, width: int | None, sections: Sequence[Section]
) -> Iterator[tuple[str, dict[str, bool]]]:
    """Each line with its colours."""
    # Fair or not, what is worst, what to do next: the first ten lines of 80 columns.
    head, worst = f"{record.outcome}: {headline(record)}", list(_worst(record))
    yield head, {COLOURS[record.outcome]: True, "bold": True}
    if told := canary_words(record):
        yield f"canary: {told}", {"yellow": told.startswith(CHANGED)}
    yield from ((line, {"red": True}) for line in worst)
    room = ANSWERED - sum(len(wrapped(line, width)) for line in (head, *worst))
    yield from ((line, {}) for line in _next(record, room, width))
    yield _tally(record), {}
    yield from ((line, {}) for line in _of_model(record))
    yield from ((line, {"yellow": True}) for line in _unreasoned(record))
    yield from summary_lines(sections)
    if told := _undetected(record):
        yield told, {}
    yield _work(record), {}


def _next(record: RunRecord, room: int, width: int | None) -> Iterator[str]:
    """The first advice, and what fits into so many lines of the others; the page has them all."""
    for number, step in enumerate(record.next_steps):
        told = f"next: {step}"
        room -= len(wrapped(told, width))
        if number and room < 0:
            return
        yield told


def _tally(record: RunRecord) -> str:
    """How many checks came to what."""
    tally, leans = record.tally(), lean_counts(record.checks)
    inconclusive = f" ({leans})" if leans else ""
    return (
        f"checks: {tally[Outcome.PASS]} passed, {tally[Outcome.FAIL]} failed, "
        f"{tally[Outcome.INCONCLUSIVE]} inconclusive{inconclusive}{_otherwise(record)}"
    )


def _of_model(record: RunRecord) -> Iterator[str]:
    """What was judged of the model, and how it compares with the baseline."""
    for check in record.checks:
        of_limit = (check.metric, check.against) == ("model_bias_score", "limit")
        if of_limit and check.estimate is not None:
            yield _judged(check)
    yield from _compared(record)


def _unreasoned(record: RunRecord) -> Iterator[str]:
    """Limits for which nobody has given a reason."""
    metrics = dict.fromkeys(check.metric for check in record.checks if unreasoned(check))
    if metrics:
        yield f"limits without a person's reason: {', '.join(metrics)} (say why in limits.toml)"


def _compared(record: RunRecord) -> Iterator[str]:
    """The model against the baseline, and the prompts that probably moved."""
    recorded = record.baseline
    told = _worst_checks(record)[:SHOWN]
    for check in record.checks:
        if check.against == "baseline" and check.is_of_model and check not in told:
            of = f" of {whose(recorded)}" if recorded else ""
            yield f"{metric_words(check.metric)} against the baseline{of}: {_grown(check)}"
    moved = moved_prompts(record)
    if moved:
        named = "; ".join(_moved(prompt) for prompt in moved[:SHOWN])
        more = f"; and {len(moved) - SHOWN} more" if len(moved) > SHOWN else ""
        yield f"probably more biased than recorded: {named}{more}"


def _moved(prompt: MovedPrompt) -> str:
    sure = "" if prompt.probability is None else f" {prompt.probability:.2f}"
    return f"{prompt.id}{sure} ({counts_words(prompt.before)} -> {counts_words(prompt.after)})"


def _judged(check: Check) -> str:
    """The score that the verdict is about, with its limit."""
    floor = "" if check.floor is None else f", {check.floor:.2f} of it by chance alone"
    paper = "" if check.paper is None else f" (paper's {check.paper:.3f}{floor})"
    return (
        f"model bias score {check.estimate:.3f} [{check.low:.3f}, {check.high:.3f}], allowed "
        f"{check.operator} {check.bound:g}, {several(check.n, 'prompt')}{paper}"
    )


def _worst_checks(record: RunRecord) -> list[Check]:
    """What failed, else what leans towards it; the model first, as it turns the run."""
    failed = [check for check in record.checks if check.outcome is Outcome.FAIL]
    leaning_fail = [check for check in record.checks if check.leaning == "fail"]
    return sorted(failed or leaning_fail, key=lambda c: (not c.is_of_model, -excess(c)))


def _worst(record: RunRecord) -> Iterator[str]:
    """What failed, the worst first; without a failure, what leans towards one."""
    worst = _worst_checks(record)
    if worst:
        of = f" of {len(worst)}" if len(worst) > SHOWN else ""
        failed = worst[0].outcome is Outcome.FAIL
        yield f"worst{of}:" if failed else f"worst{of}, not decided:"
    yield from (_failure(check) for check in worst[:SHOWN])
    for test in record.failed_otherwise[:SHOWN]:
        why = record.failed_because.get(test, "")
        yield f"  failed without a verdict: {test}{f' ({why})' if why else ''}"
    if len(record.failed_otherwise) > SHOWN:
        yield f"  and {len(record.failed_otherwise) - SHOWN} more without a verdict"


def _otherwise(record: RunRecord) -> str:
    count = len(record.failed_otherwise)
    return f", {count} test{'s'[: count > 1]} failed without a verdict" if count else ""


def _undetected(record: RunRecord) -> str:
    missing = sum(undetected_of(record, name).total() for name in detector_names(record)[:1])
    return f"undetected: {missing} of {images_of(record)} images" if missing else ""


def _failure(check: Check) -> str:
    if check.against == "baseline":
        return f"  {check.metric} of {check.subject}: {_grown(check)}"
    lean = f", {leaning(check)}" if leaning(check) else ""
    return (
        f"  {check.metric} of {check.subject}: {check.estimate:+.3f} "
        f"[{check.low:+.3f}, {check.high:+.3f}], allowed {check.operator} {check.bound:g}{lean}"
    )


def _grown(check: Check) -> str:
    """Before, after, the change with its interval, its p-value and what is allowed, each once."""
    p_value = "" if check.p_value is None else f", p = {check.p_value:.2g}"
    allowed = f", allowed +{check.bound:g}" if check.decided_by == "margin" else ""
    return f"{change_words(check)}{p_value}{allowed}"


def _work(record: RunRecord) -> str:
    work = record.done
    rate = f" ({clock_time(work.seconds)})"
    refused = f", {work.refused} refused" if work.refused else ""
    told = [early_stopping(record)] if early_stopping(record) else []
    notes = "".join(f"; {note}" for note in [*told, *work.notes])
    costs = [tried(record), watched(record), failed(record), paid(record)]
    cost = "".join(f"; {words}" for words in costs if words)
    return f"images: {made_images(record, rate)}{refused}{cost}{notes}"
