"""Charts over the steps of the making: SPI and foreseen shares (OASIS Fig. 6, 8 and 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_t2i.data import JPEG
from pytest_t2i.reporting.charts import UNIT, Scale, around_zero
from pytest_t2i.reporting.formatting import interval_words, signed
from pytest_t2i.runs.record import EmergenceRecord, ForeseenRecord, RunRecord


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves over steps, as points of SVG in a box of 100 x 100."""

    title: str
    note: str
    label: str
    """The same in words."""
    mean: str
    band: str
    """Outline of the band."""
    curves: tuple[str, ...] = ()
    """Of single images."""
    zero: float | None = None
    """Height of 0."""
    mark: tuple[float, float] | None = None
    """Left end and width of an interval of a step."""
    top: str = ""
    """What the upper end of the scale says."""
    bottom: str = ""
    steps: int = 0
    strips: tuple[str, ...] = ()


def emergence_charts(record: RunRecord) -> list[Chart]:
    """SPI of each attribute, with guidance where the images were made with it."""
    reach = max((abs(v) for o in record.emergence for v in (*o.low, *o.high)), default=0.0)
    scale = around_zero(min(reach, 1.0))
    shown = [emergence for emergence in record.emergence if emergence.mean and emergence.guidance]
    return [_emergence(emergence, scale) for emergence in shown]


def _emergence(emergence: EmergenceRecord, scale: Scale) -> Chart:
    half = emergence.half_step
    told = f"half of the final lean by step {half}" if half else "no lean that images agree on"
    steps = len(emergence.mean)
    return Chart(
        f"{emergence.concept}: {emergence.attribute}",
        f"{emergence.images} images; {told}{_centred(emergence)}",
        f"SPI from {signed(emergence.mean[0])} at the first step to "
        f"{signed(emergence.mean[-1])} at the last "
        f"of {steps}; {told}{_centred(emergence)}",
        _line(emergence.mean, scale),
        _outline(emergence.low, emergence.high, scale),
        tuple(_line(curve, scale) for curve in emergence.curves),
        100.0 - scale.at(0.0),
        None if half is None else _interval(half.low, half.high, steps),
        signed(scale.high),
        signed(scale.low),
        steps,
    )


def _centred(emergence: EmergenceRecord) -> str:
    """Of the first step, with its band."""
    if not emergence.centred:
        return ""
    first, low, high = (
        signed(ends[0])
        for ends in (emergence.centred, emergence.centred_low, emergence.centred_high)
    )
    return f"; centred {first} [{low}, {high}] at step 1"


def foreseen_charts(record: RunRecord) -> list[Chart]:
    """Share of each attribute among the pictures that each step foresees."""
    return [_foreseen(foreseen) for foreseen in record.foreseen if foreseen.shares]


def _foreseen(foreseen: ForeseenRecord) -> Chart:
    known = [share for share in foreseen.shares if share is not None]
    whole = len(known) == len(foreseen.shares)
    settles = "" if foreseen.settles is None else f"settles at step {foreseen.settles}; "
    final = interval_words(foreseen.shares[-1])
    missing = "" if whole else f"; {len(foreseen.shares) - len(known)} steps without any label"
    return Chart(
        f"{foreseen.concept}: {foreseen.looked_for}",
        f"{settles}finished images {final}{missing}",
        f"share of {foreseen.looked_for}, step by step; {settles}finished images {final}",
        _line([share.estimate for share in known], UNIT) if whole else "",
        _outline([s.low for s in known], [s.high for s in known], UNIT) if whole else "",
        top="100 %",
        bottom="0 %",
        steps=len(foreseen.shares) - 1,
        strips=tuple(strip for strip in foreseen.strips if strip.startswith(JPEG)),
    )


def _line(values: Sequence[float], scale: Scale) -> str:
    """Points of a line from the left to the right end; upwards is more."""
    width = max(1, len(values) - 1)
    return " ".join(
        f"{round(100.0 * place / width, 2)},{round(100.0 - scale.at(value), 2)}"
        for place, value in enumerate(values)
    )


def _outline(low: Sequence[float], high: Sequence[float], scale: Scale) -> str:
    back = _line(high, scale).split(" ")
    return " ".join([_line(low, scale), *reversed(back)])


def _interval(low: float, high: float, steps: int) -> tuple[float, float]:
    """Steps are counted from 1, and drawn from the left end on."""
    scale = Scale(1.0, max(2.0, float(steps)))
    return scale.span(max(1.0, low), max(1.0, high))
