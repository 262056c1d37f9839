"""The drawing of audits' sections: each class of block becomes the content of a template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from pytest_t2i.data import Interval, Outcome
from pytest_t2i.reporting import (
    html_curves,  # noqa: F401 - registers how a CurveChart is drawn
    html_planes,  # noqa: F401 - registers how a Plane is drawn
    pictures,
)
from pytest_t2i.reporting.audit_sections import best_rows, cell_parts
from pytest_t2i.reporting.charts import Group, Row, Scale, Track, side_by_side
from pytest_t2i.reporting.formatting import MINUS, plain, written
from pytest_t2i.reporting.html_dispatch import Drawn, draw
from pytest_t2i.reporting.overlays import overlay
from pytest_t2i.reporting.thumbnails import thumbnails
from pytest_t2i.sections import (
    Album,
    Bar,
    BarChart,
    Block,
    Cell,
    Form,
    Note,
    Overlays,
    Paragraph,
    Picture,
    Section,
    Table,
)


@dataclass(frozen=True, slots=True)
class DrawnSection:
    """A section for the template."""

    anchor: str
    title: str
    blocks: Sequence[Drawn]


@dataclass(frozen=True, slots=True)
class DrawnCell:
    """A cell of a table."""

    text: str
    interval: str = ""
    """Ends of the interval; "" without an interval."""
    best: bool = False
    outcome: Outcome | None = None
    """Verdict, drawn as its mark."""


class Charts(NamedTuple):
    """The bar charts that stand side by side."""

    columns: list[list[Group]]
    limits: bool
    """Whether a bar has limits, so that the legend explains them beside the references."""
    reference: str
    """Meaning of the references of bars."""


class BarTable(NamedTuple):
    """A chart whose bars have cells."""

    chart: BarChart
    low: str
    high: str
    rows: list[BarRow]
    limits: bool


class BarRow(NamedTuple):
    """One bar of a BarTable."""

    row: Row
    reference: str
    cells: list[DrawnCell]
    is_whole: bool
    """Whether the bar has the name of the first bar."""
    is_first: bool
    """Whether the previous bar has another name."""


def drawn(sections: Sequence[Section], folder: Path) -> list[DrawnSection]:
    """Return the sections for the template; links to full pictures are relative to ``folder``."""
    return [DrawnSection(s.anchor, s.title, list(_blocks(s.blocks, folder))) for s in sections]


def _blocks(blocks: Sequence[Block], folder: Path) -> Iterator[Drawn]:
    """Yield the blocks in order, and consecutive blocks that may stand side by side as one."""
    for is_beside, run in groupby(_drawn(blocks, folder), key=lambda one: one.beside):
        if is_beside:
            yield Drawn("beside", list(run))
        else:
            yield from run


def _drawn(blocks: Sequence[Block], folder: Path) -> list[Drawn]:
    """Return the blocks in order, consecutive bar charts as one block of charts."""
    made: list[Drawn] = []
    for is_chart, run in groupby(blocks, key=_is_plain_chart):
        if is_chart:
            made.append(Drawn("charts", _charts([c for c in run if isinstance(c, BarChart)])))
        else:
            made += [draw(block, folder) for block in run]
    return made


def _is_plain_chart(block: Block) -> bool:
    return isinstance(block, BarChart) and not block.columns


def _charts(charts: Sequence[BarChart]) -> Charts:
    reference = next((chart.reference for chart in charts if chart.reference), "")
    groups = [_group(chart) for chart in charts]
    return Charts(side_by_side(groups), any(map(_has_limits, charts)), reference)


def _has_limits(chart: BarChart) -> bool:
    return any(bar.limits for bar in chart.bars)


@draw.register
def _(block: Paragraph, folder: Path) -> Drawn:  # noqa: ARG001 - as for all blocks
    return Drawn("paragraph", block, block.level == "detail")


@draw.register
def _(block: Note, folder: Path) -> Drawn:  # noqa: ARG001 - as for all blocks
    return Drawn("note", block.text, block.level == "detail")


@draw.register
def _(block: Table, folder: Path) -> Drawn:  # noqa: ARG001 - as for all blocks
    columns = list(zip(*block.rows, strict=True))
    best = [
        best_rows(column, block.best[k] if k < len(block.best) else "")
        for k, column in enumerate(columns)
    ]
    rows = [
        [_cell(cell, block.digits, block.style(k), best=n in best[k]) for k, cell in enumerate(row)]
        for n, row in enumerate(block.rows)
    ]
    content = {"table": block, "rows": rows}
    return Drawn("table", content, block.level == "detail", block.caption)


@draw.register
def _(block: BarChart, folder: Path) -> Drawn:  # noqa: ARG001 - as for all blocks
    scale = Scale(block.low, block.high)
    names = [bar.name for bar in block.bars]
    rows = [
        BarRow(
            _row_of_table(bar, block, scale),
            plain(bar.reference, block.digits),
            [_cell(cell, block.digits, block.form) for cell in bar.cells],
            bar.name == names[0],
            place == 0 or bar.name != names[place - 1],
        )
        for place, bar in enumerate(block.bars)
    ]
    content = BarTable(block, f"{block.low:g}", f"{block.high:g}", rows, _has_limits(block))
    return Drawn("bar_table", content, block.level == "detail", block.title)


def _row_of_table(bar: Bar, chart: BarChart, scale: Scale) -> Row:
    """Return the row of a bar; without an interval its value is the reason."""
    row = _row(bar, chart, scale)
    return replace(row, value=bar.absent) if bar.interval is None and bar.absent else row


def _cell(cell: Cell, digits: int, form: Form = "", *, best: bool = False) -> DrawnCell:
    """Return a cell with true minus signs, and a dash for None."""
    if isinstance(cell, Outcome):
        return DrawnCell(cell.value, "", best, cell)
    if cell is None or isinstance(cell, str):
        return DrawnCell("\u2013" if cell is None else cell, "", best)
    return DrawnCell(*_number(cell, digits, form), best)


def _number(cell: Cell, digits: int, form: Form) -> tuple[str, str]:
    """Return the texts of a cell's value and of its interval, with true minus signs."""
    value, ends = (part.replace("-", MINUS) for part in cell_parts(cell, digits, form))
    return value, ends


@draw.register
def _(block: Album, folder: Path) -> Drawn:
    small = thumbnails(picture.file for picture in block.pictures if picture.file)
    shown = [_picture(picture, small, folder) for picture in block.pictures]
    return Drawn("album", {"album": block, "pictures": shown})


def _picture(picture: Picture, small: Mapping[str, str], folder: Path) -> pictures.Picture:
    file = picture.file or ""
    return pictures.Picture(
        seed=None,
        kind=picture.kind or "other",
        word=picture.word,
        others=picture.others,
        title=picture.title,
        uri=small.get(file),
        link=pictures.link(file, folder) if file else None,
        absent="file gone or unreadable" if file else "no picture",
    )


@draw.register
def _(block: Overlays, folder: Path) -> Drawn:  # noqa: ARG001 - as for all blocks
    shown = [(overlay(picture), picture) for picture in block.pictures]
    return Drawn("overlays", shown, block.level == "detail", "Pictures")


def _group(chart: BarChart) -> Group:
    scale = Scale(chart.low, chart.high)
    rows = tuple(_row(bar, chart, scale) for bar in chart.bars)
    low, high = (
        f"{written(end, chart.form)} {stands_for}".strip()
        for end, stands_for in zip((chart.low, chart.high), chart.ends, strict=True)
    )
    unit, middle = (chart.score, chart.unit) if chart.score else (chart.unit, _middle(chart))
    return Group(chart.title, rows, chart.note, low, high, unit, middle)


def _middle(chart: BarChart) -> str:
    if not chart.low < chart.middle < chart.high:
        return ""
    return written(chart.middle, chart.form) if chart.middle else "0"


def _row(bar: Bar, chart: BarChart, scale: Scale) -> Row:
    reference = None if bar.reference is None else scale.at(bar.reference)
    limits = tuple(scale.at(limit) for limit in bar.limits)
    zero = scale.at(chart.middle) if chart.low < chart.middle < chart.high else None
    if bar.interval is None:
        words = "no interval"
        track = Track(bar.absent or words, limits=limits, reference=reference, zero=zero)
        words = bar.absent if chart.score and bar.absent else words
    else:
        shown = bar.score if chart.score else bar.interval
        words = " ".join(_number(shown, chart.digits, chart.form)).strip()
        track = _track(bar, bar.interval, chart, words)
        track = replace(track, limits=limits, reference=reference, zero=zero)
    return Row(bar.name, track, words, bar.note, bar.outcome, bar.anchor, bar.lean)


def _track(bar: Bar, known: Interval, chart: BarChart, words: str) -> Track:
    scale = Scale(chart.low, chart.high)
    name = f"{bar.note}; {chart.score}" if chart.score else chart.unit
    is_over = bar.score is not None and bar.score.estimate > 0.0
    return Track(
        f"{name} {words}".strip(),
        kind="over" if is_over else bar.kind or "plain",
        bar=scale.span(chart.middle, known.estimate),
        whisker=(scale.at(known.low), scale.at(known.high)),
    )
