"""Rows of similarity gaps, for tests of what shows them."""

from __future__ import annotations

from pytest_t2i.data import Interval, Row
from pytest_t2i.generation.spaces import space_words


def gap_row(
    space: str,
    value: Interval | None,
    sides: tuple[float | None, float | None] = (None, None),
    triplets: int = 0,
    p_value: float | None = None,
    name: str = "model",
) -> Row:
    """Return the gap of a set of triplets in a space."""
    about = "model" if name == "model" else "group"
    facts = {
        "name": "all triplets" if name == "model" else name,
        "to_feminine": sides[0],
        "to_masculine": sides[1],
        "p_value": p_value,
    }
    return Row(
        "similarity_gap", f"{name} {space_words(space)}", about, value,
        {"space": space}, facts, {"triplets": triplets},
    )  # fmt: skip
