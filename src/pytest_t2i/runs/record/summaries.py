"""What follows from the rows and sections of a run's audits, for pages that show no sections."""

from __future__ import annotations

from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.data import Interval
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.sections import Paragraph


def headlines(record: RunRecord) -> list[str]:
    lines = (
        next(
            (
                block.text
                for each in audit.blocks
                for block in each.blocks
                if (isinstance(block, Paragraph) and block.level == "summary")
            ),
            "",
        )
        for audit in record.in_order
    )
    return [line for line in lines if line]


def series_of_audits(record: RunRecord) -> dict[str, Interval]:
    """Return the values that comparisons set side by side, by name.

    >>> series_of_audits(RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, {}, {}))
    {}
    """
    parts = (Rows(audit.rows).series() for audit in record.audits.values())
    return {name: interval for part in parts for name, interval in part.items()}
