"""The drawing of curves over steps: points of SVG in a box of 100 x 100."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_t2i.data import JPEG
from pytest_t2i.reporting.charts import Scale
from pytest_t2i.reporting.formatting import written
from pytest_t2i.reporting.html_dispatch import Drawn, draw
from pytest_t2i.sections import CurveChart


class Curves(NamedTuple):
    """A chart of curves for the template."""

    chart: CurveChart
    mean: str
    band: str
    """Outline of the band."""
    curves: list[str]
    """Curves of single images."""
    zero: float | None
    """Distance of 0 from the top."""
    marked: tuple[float, float] | None
    """Left end and width of the marked interval of steps."""
    low: str
    """Label of the lower end of the scale."""
    high: str
    """Label of the upper end of the scale."""
    strips: list[str]


@draw.register
def _(block: CurveChart, folder: Path) -> Drawn:  # noqa: ARG001 - as for all blocks
    scale = Scale(block.low, block.high)
    folded = block.level == "detail"
    return Drawn("curves", _curves(block, scale), folded, block.title, beside=not folded)


def _curves(block: CurveChart, scale: Scale) -> Curves:
    return Curves(
        block,
        _line(block.mean, scale),
        _outline(*block.band, scale),
        [_line(curve, scale) for curve in block.curves],
        100.0 - scale.at(0.0) if block.low < 0.0 < block.high else None,
        None if block.marked is None else _interval(*block.marked, block.steps),
        written(block.low, block.form),
        written(block.high, block.form),
        # Anything but a data URI would make the page fetch a picture.
        [strip for strip in block.strips if strip.startswith(JPEG)],
    )


def _line(values: Sequence[float], scale: Scale) -> str:
    """Return the points of a line over the whole width; larger values lie higher."""
    width = max(1, len(values) - 1)
    return " ".join(
        f"{round(100.0 * place / width, 2)},{round(100.0 - scale.at(value), 2)}"
        for place, value in enumerate(values)
    )


def _outline(low: Sequence[float], high: Sequence[float], scale: Scale) -> str:
    back = _line(high, scale).split(" ")
    return " ".join([_line(low, scale), *reversed(back)]).strip()


def _interval(low: float, high: float, steps: int) -> tuple[float, float]:
    """Return the left end and the width of an interval of steps; step 1 is the left end."""
    scale = Scale(1.0, max(2.0, float(steps)))
    return scale.span(max(1.0, low), max(1.0, high))
