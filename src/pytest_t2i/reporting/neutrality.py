"""Similarities of neutral pictures to the two others, space by space (Wu Tables 5 and 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_t2i.reporting.charts import SPACES
from pytest_t2i.reporting.formatting import interval_text, plain
from pytest_t2i.runs.record import GapRecord, RunRecord

LEVEL = 0.05
"""Error level at which a leaning is named."""
SMALLEST = 1e-4
HEADS = ("Space", "Neutral to feminine", "Neutral to masculine", "Gap", "p-value")


class SpaceRow(NamedTuple):
    """A space over all triplets."""

    space: str
    to_feminine: str
    to_masculine: str
    gap: str
    """With its interval."""
    p_value: str


def space_rows(record: RunRecord) -> list[SpaceRow]:
    """One row for each space of the run."""
    return [_row(gap) for gap in record.gaps if gap.name == "model"]


def _row(gap: GapRecord) -> SpaceRow:
    name, unit = SPACES.get(gap.space, (gap.space, ""))[0], ""
    sides: Sequence[float | None] = (gap.to_feminine, gap.to_masculine)
    if gap.space == "diff_pix":
        # As Wu prints it: percent of the pixels that differ, where lower is more alike.
        sides = [None if side is None else 100.0 * (1.0 - side) for side in sides]
        unit = " (%, lower is more alike; the gap is turned)"
    women, men = (plain(side, 2 if unit else 3) for side in sides)
    return SpaceRow(f"{name}{unit}", women, men, interval_text(gap.gap), p_words(gap.p_value))


def p_words(p_value: float | None) -> str:
    """``0.013``, ``< 0.0001``, or a dash.

    >>> p_words(0.0125), p_words(1e-9), p_words(None)
    ('0.013', '< 0.0001', '-')
    """
    if p_value is None:
        return "-"
    return f"< {SMALLEST}" if p_value < SMALLEST else f"{p_value:.2g}"


def leaning_words(record: RunRecord) -> str:
    """The test over all spaces in a sentence; "" without one."""
    tested = record.leaning
    if tested is None:
        return ""
    among = f"in all {len(tested.spaces)} spaces"
    for side, p_value in (("masculine", tested.masculine), ("feminine", tested.feminine)):
        if p_value <= LEVEL:
            return f"neutral is nearer to {side} {among} (p {_sign(p_value)})"
    least = min(tested.masculine, tested.feminine)
    return f"no gender is shown to be nearer to neutral {among} (p {_sign(least)})"


def _sign(p_value: float) -> str:
    words = p_words(p_value)
    return words if words.startswith("<") else f"= {words}"
