"""The summaries of a run's audits, for pages and files that show no sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.summary import FirstScreen, Summary
from pytest_t2i.data import Interval
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.sections import Block, Paragraph


def summaries(record: RunRecord, audits: Sequence[Audit] | None = None) -> Iterator[Summary]:
    """Yield the summary of each audit with a record; None takes the installed audits."""
    for audit in installed_audits() if audits is None else audits:
        if (part := record.part(audit.name)).rows:
            yield audit.summary(part)


def first_screens(audits: Sequence[Audit] | None = None) -> list[FirstScreen]:
    """Return the scores that reports show first; None takes the installed audits."""
    every = installed_audits() if audits is None else audits
    return [audit.first_screen for audit in every if audit.first_screen is not None]


def headlines(record: RunRecord) -> list[str]:
    """Return the one-line headline of each audit that has one."""
    said = {
        audit.name: audit.summary(part).headline
        for audit in installed_audits()
        if (part := record.part(audit.name)).rows
    }
    shown = {
        name: next((b.text for each in audit.blocks for b in each.blocks if _is_line(b)), "")
        for name, audit in record.audits.items()
    }
    names = [*said, *(name for name in shown if name not in said)]
    lines = (said.get(name) or shown.get(name, "") for name in names)
    return [line for line in lines if line]


def _is_line(block: Block) -> bool:
    return isinstance(block, Paragraph) and block.level == "summary"


def series_of_audits(
    record: RunRecord, audits: Sequence[Audit] | None = None
) -> dict[str, Interval]:
    """Return the values that comparisons set side by side, by name.

    >>> series_of_audits(RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, {}, {}))
    {}
    """
    known = {
        name: interval
        for summary in summaries(record, audits)
        for name, interval in summary.series.items()
    }
    # Rows say it even where their audit is not installed.
    rows = (record.part(name) for name, audit in record.audits.items() if audit.rows)
    return {name: interval for part in rows for name, interval in part.series().items()} | known
