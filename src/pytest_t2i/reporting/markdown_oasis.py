"""What the instruments of OASIS measured, as tables of Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_t2i.adapters.support.escaping import escape
from pytest_t2i.reporting.formatting import interval_text
from pytest_t2i.runs.record import RunRecord


def emergence_table(record: RunRecord) -> list[str]:
    """SPI of the first step, by either index."""
    lines = [
        f"| {escape(emergence.concept)}: {escape(emergence.attribute)} "
        f"| {_first(emergence.mean, emergence.low, emergence.high)} "
        f"| {_first(emergence.centred, emergence.centred_low, emergence.centred_high)} "
        f"| {interval_text(emergence.half_step)} |"
        for emergence in record.emergence
        if emergence.mean and emergence.guidance
    ]
    columns = ("emergence", "SPI of the first step", "centred", "half of the lean by step")
    head = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return [*head, *lines, ""] if lines else []


def _first(*band: Sequence[float]) -> str:
    """Of the first step."""
    return "{:+.3f} [{:+.3f}, {:+.3f}]".format(*(ends[0] for ends in band)) if band[0] else "none"
