"""The summary of a run for the terminal."""

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
from pytest_t2i.reporting.run_counts import (
    distinct_words,
    failed,
    looks_words,
    made_images,
    paid,
    tried,
    watched,
)
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
"""Number of failures that are named; the page has them all."""
ANSWERED = 10
"""Number of lines for the verdict, the worst checks and the next steps together."""


def summarise(
    record: RunRecord,
    settings: Settings,
    writer: Any,
    *,
    width: int | None = None,
    audits: Sequence[Audit[Any]] | None = None,
) -> None:
    """Print the summary of a run: the verdict, the worst checks, the next steps and counts.

    Args:
        record: record of the run.
        settings: settings of the run, for the paths of report and baseline.
        writer: pytest's terminal reporter.
        width: columns at which lines are broken; None leaves them whole.
        audits: audits whose sections are shown; None takes the installed ones.
    """
    writer.section(line(record.title), sep="=")
    for text, markup in _lines(record, width, sections_of(record, audits)):
        for part in wrapped(line(text), width):
            writer.write_line(part, **markup)
    # Paths are not broken, so that a terminal can open them on a click.
    writer.write_line(line(f"report: {from_here(settings.report / 'index.html')}"))
    if settings.save_baseline is not None:
        writer.write_line(line(f"baseline: {from_here(settings.save_baseline)}"))


def summary_text(record: RunRecord, width: int, audits: Sequence[Audit[Any]] | None = None) -> str:
    """Return the summary as one text without colours."""
    lines = (text for text, _ in _lines(record, width, sections_of(record, audits)))
    texts = [record.title, *lines]
    return "\n".join(part for text in texts for part in wrapped(line(text), width))


def _lines(
    record: RunRecord, width: int | None, sections: Sequence[Section]
) -> Iterator[tuple[str, dict[str, bool]]]:
    """Yield each line with pytest's markup for its colours."""
    # The first ten lines of 80 columns hold the verdict, the worst checks and the next steps.
    head, worst = f"{record.outcome}: {headline(record)}", list(_worst(record))
    yield head, {COLOURS[record.outcome]: True, "bold": True}
    if canary := canary_words(record):
        yield f"canary: {canary}", {"yellow": canary.startswith(CHANGED)}
    yield from ((line, {"red": True}) for line in worst)
    room = ANSWERED - sum(len(wrapped(line, width)) for line in (head, *worst))
    yield from ((line, {}) for line in _next(record, room, width))
    yield _tally(record), {}
    yield from ((line, {}) for line in _of_model(record))
    yield from ((line, {"yellow": True}) for line in _unreasoned(record))
    yield from summary_lines(sections)
    if undetected := _undetected(record):
        yield undetected, {}
    yield _work(record), {}
    if words := distinct_words(record):
        repeats = (
            record.distinct is not None and record.distinct.distinct < record.distinct.pictures
        )
        yield f"distinct pictures: {words}", {"yellow": repeats}
    if looks := looks_words(record):
        yield f"looked at before: {looks}", {"yellow": True}


def _next(record: RunRecord, room: int, width: int | None) -> Iterator[str]:
    """Yield the first next step, and further ones that fit into ``room`` lines."""
    for number, step in enumerate(record.next_steps):
        text = f"next: {step}"
        room -= len(wrapped(text, width))
        if number and room < 0:
            return
        yield text


def _tally(record: RunRecord) -> str:
    """Return the numbers of checks by outcome."""
    tally, leans = record.tally(), lean_counts(record.checks)
    inconclusive = f" ({leans})" if leans else ""
    return (
        f"checks: {tally[Outcome.PASS]} passed, {tally[Outcome.FAIL]} failed, "
        f"{tally[Outcome.INCONCLUSIVE]} inconclusive{inconclusive}{_otherwise(record)}"
    )


def _of_model(record: RunRecord) -> Iterator[str]:
    """Yield the model's checks against limits and the baseline."""
    for check in record.checks:
        of_limit = (check.metric, check.against) == ("model_bias_score", "limit")
        if of_limit and check.estimate is not None:
            yield _judged(check)
    yield from _compared(record)


def _unreasoned(record: RunRecord) -> Iterator[str]:
    """Yield a line about limits without a reason."""
    metrics = dict.fromkeys(check.metric for check in record.checks if unreasoned(check))
    if metrics:
        yield f"limits without a person's reason: {', '.join(metrics)} (say why in limits.toml)"


def _compared(record: RunRecord) -> Iterator[str]:
    """Yield the model's checks against the baseline, and the prompts that probably moved.

    Checks that stand among the worst ones are left out.
    """
    recorded = record.baseline
    shown = _worst_checks(record)[:SHOWN]
    for check in record.checks:
        if check.against == "baseline" and check.is_of_model and check not in shown:
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
    """Return the judged model bias score with its limit."""
    floor = "" if check.floor is None else f", {check.floor:.2f} of it by chance alone"
    paper = "" if check.paper is None else f" (paper's {check.paper:.3f}{floor})"
    return (
        f"model bias score {check.estimate:.3f} [{check.low:.3f}, {check.high:.3f}], allowed "
        f"{check.operator} {check.bound:g}, {several(check.n, 'prompt')}{paper}"
    )


def _worst_checks(record: RunRecord) -> list[Check]:
    """Return the failed checks, else those that are likely to fail; those of the model first."""
    failed = [check for check in record.checks if check.outcome is Outcome.FAIL]
    leaning_fail = [check for check in record.checks if check.leaning == "fail"]
    return sorted(failed or leaning_fail, key=lambda c: (not c.is_of_model, -excess(c)))


def _worst(record: RunRecord) -> Iterator[str]:
    """Yield the worst checks, and the tests that failed without a verdict."""
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
    """Return a change with its values before and after, interval, p-value and margin."""
    p_value = "" if check.p_value is None else f", p = {check.p_value:.2g}"
    allowed = f", allowed +{check.bound:g}" if check.decided_by == "margin" else ""
    return f"{change_words(check)}{p_value}{allowed}"


def _work(record: RunRecord) -> str:
    work = record.done
    rate = f" ({clock_time(work.seconds)})"
    refused = f", {work.refused} refused" if work.refused else ""
    stopped = [early_stopping(record)] if early_stopping(record) else []
    notes = "".join(f"; {note}" for note in [*stopped, *work.notes])
    costs = [tried(record), watched(record), failed(record), paid(record)]
    cost = "".join(f"; {words}" for words in costs if words)
    return f"images: {made_images(record, rate)}{refused}{cost}{notes}"
