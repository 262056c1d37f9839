"""The summaries of a run's audits, for pages and files that show no sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.summary import FirstScreen, Summary
from pytest_t2i.data import Interval
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.sections import Paragraph


def summaries(record: RunRecord, audits: Sequence[Audit[Any]] | None = None) -> Iterator[Summary]:
    """Yield the summary of each audit with a record; None takes the installed audits."""
    for audit in installed_audits() if audits is None else audits:
        if (part := record.part(audit.name)) is not None:
            yield audit.summary(part)


def first_screens(audits: Sequence[Audit[Any]] | None = None) -> list[FirstScreen]:
    """Return the scores that reports show first; None takes the installed audits."""
    every = installed_audits() if audits is None else audits
    return [audit.first_screen for audit in every if audit.first_screen is not None]


def headlines(record: RunRecord) -> list[str]:
    """Return the one-line headline of each audit that has one."""
    of_records = [summary.headline for summary in summaries(record) if summary.headline]
    with_rows = [audit for audit in record.audits.values() if audit.rows]
    blocks = (block for audit in with_rows for each in audit.blocks for block in each.blocks)
    lines = (b.text for b in blocks if isinstance(b, Paragraph) and b.level == "summary")
    return [*of_records, *filter(None, lines)]


def series_of_audits(
    record: RunRecord, audits: Sequence[Audit[Any]] | None = None
) -> dict[str, Interval]:
    """Return the values that comparisons set side by side, by name.

    >>> series_of_audits(RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, {}, {}))
    {}
    """
    return {
        name: interval
        for summary in summaries(record, audits)
        for name, interval in summary.series.items()
    }
