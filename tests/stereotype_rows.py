"""Rows of stereotypes and of variety, for tests of what shows them."""

from __future__ import annotations

from typing import Any

from pytest_t2i.audits.stereotypes import _in_words
from pytest_t2i.data import Interval, Row
from pytest_t2i.statistics import share_interval
from pytest_t2i.statistics.shares import stereotype_interval


def stereotype_rows(
    subject: str,
    concept: str,
    attribute: str,
    expected: float,
    share: Interval | None,
    score: Interval | None,
    counts: tuple[int, int] = (0, 0),
    **more: Any,
) -> tuple[Row, Row]:
    """Return the score and the share of one stereotype; ``counts`` are (present, clear)."""
    facts = {
        "name": attribute, "concept": concept, "detector": "clip", "expected": expected,
        "direction": "over", "margin": 0.0, "source": "", **more,
    }  # fmt: skip
    facts["note"] = _in_words(facts, share)
    present, clear = counts
    images = {"images": clear, "clear": clear, "present": present}
    absent = "" if share else "no clear image"
    return (
        Row("stereotype_score", subject, "stereotype", score, {}, facts, images, absent),
        Row("attribute_share", subject, "stereotype", share, {}, facts, images, absent),
    )


def counted_rows(
    subject: str, concept: str, attribute: str, expected: float, counts: tuple[int, int],
    direction: Any = "over",
) -> tuple[Row, Row]:  # fmt: skip
    """Return the rows of so many (present, clear) images, with their intervals of 95 %."""
    return stereotype_rows(
        subject, concept, attribute, expected, share_interval(*counts, 0.95),
        stereotype_interval(*counts, expected, 0.95, direction), counts, direction=direction,
    )  # fmt: skip


def wals_row(
    attribute: str, value: Interval | None, direction: str = "text", *, centred: bool = False
) -> Row:
    """Return the variety of the images of "Iranian" along an attribute."""
    return Row(
        "wals",
        f"iranian-{attribute} by {direction}{', centred' * centred}",
        "prompt",
        value,
        {"direction": direction, "centred": centred},
        {"name": attribute, "concept": "Iranian", "prompt": "iranian", "encoder": "clip"},
        {"images": 12},
        "" if value else "all 12 images are the same",
    )
