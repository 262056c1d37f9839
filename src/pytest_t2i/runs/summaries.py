"""What audits sum up of a run, for places that show no sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.summary import Summary
from pytest_t2i.data import Interval
from pytest_t2i.runs.record import RunRecord


def summaries(record: RunRecord, audits: Sequence[Audit[Any]] | None = None) -> Iterator[Summary]:
    """The summary of each audit that keeps something of a run; None takes installed audits."""
    for audit in installed_audits() if audits is None else audits:
        if (part := record.part(audit.name)) is not None:
            yield audit.summary(part)


def headlines(record: RunRecord) -> dict[str, str]:
    """What each audit says in one line, by its name; audits that say nothing are left out."""
    parts = ((audit, record.part(audit.name)) for audit in installed_audits())
    told = {a.name: a.summary(part).headline for a, part in parts if part is not None}
    return {name: headline for name, headline in told.items() if headline}


def series_of_audits(
    record: RunRecord, audits: Sequence[Audit[Any]] | None = None
) -> dict[str, Interval]:
    """Everything that is followed over versions, by name.

    >>> series_of_audits(RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, {}, {}))
    {}
    """
    return {
        name: interval
        for summary in summaries(record, audits)
        for name, interval in summary.series.items()
    }
