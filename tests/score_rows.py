"""Rows of model bias scores, for tests of what shows them."""

from __future__ import annotations

from typing import Any

from pytest_t2i.data import Bounds, Interval, Row


def score_row(
    value: Interval | None,
    paper: float | None = 0.75,
    floor: float | None = 0.37,
    counts: tuple[int, int] = (3, 7),
    name: str = "model",
    detector: str = "clip",
    worst: Bounds | None = None,
    **more: Any,
) -> Row:
    """Return the score of a set of prompts by a detector."""
    facts = {
        "name": "all" if name == "model" else name, "paper": paper, "fair_model": floor,
        "lowest": worst and worst.low, "highest": worst and worst.high, **more,
    }  # fmt: skip
    about = "model" if name == "model" else "group"
    number = {"prompts": counts[0], "clear_images": counts[1]}
    return Row("model_bias_score", name, about, value, {"detector": detector}, facts, number)
