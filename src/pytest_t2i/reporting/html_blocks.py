"""Sections of a report as HTML: tables, charts, albums, planes and curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from pytest_t2i.data import Interval, Outcome
from pytest_t2i.reporting import pictures
from pytest_t2i.reporting.audit_sections import best_rows, cell_parts, without_empty_columns
from pytest_t2i.reporting.charts import ChartRow, Group, Scale, Track, two_columns
from pytest_t2i.reporting.formatting import (
    MINUS,
    outcome_counts,
    plain,
    plain_interval,
    several,
    written,
)
from pytest_t2i.reporting.pictures import overlay, thumbnails
from pytest_t2i.sections import (
    Album,
    Bar,
    BarChart,
    Block,
    Cell,
    CurveChart,
    Form,
    Note,
    Overlays,
    Paragraph,
    Picture,
    Plane,
    Point,
    Section,
    Table,
    Tint,
)


class Drawn(NamedTuple):
    """A block for the template."""

    kind: str
    """Name of the template: ``templates/blocks/KIND.html.j2``."""
    content: Any
    """Variable ``content`` of the template."""
    folded: bool = False
    """Whether the block is folded away."""
    title: str = "More"
    """Title of a folded block."""
    beside: bool = False
    """Whether neighbouring blocks with this flag stand side by side."""


@singledispatch
def draw(block: Any, folder: Path) -> Drawn:
    """Return a block for its template; links to full pictures are relative to ``folder``."""
    raise TypeError(f"expected a block of pytest_t2i.sections, got {block!r} for {folder}")


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
    low: str
    """Label of the lower end of the scale."""
    high: str
    """Label of the upper end of the scale."""


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
        written(block.low, block.form),
        written(block.high, block.form),
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


WIDTH, HEIGHT = 320, 260
"""Width and height of a plane in pixels; the width is that of a narrow one."""
LETTER, ABOVE, BELOW = 6.6, 10, 3
"""Size of a name in pixels: width of a letter, height above its line, depth below it."""
GOOD = "good corner"


class Place(NamedTuple):
    """The position of a name relative to its point, in pixels."""

    dx: int
    dy: int
    anchor: str
    """SVG text anchor: "start" for a name on the right, "end" for one on the left."""


PLACES = (Place(7, -5, "start"), Place(-7, -5, "end"), Place(7, 13, "start"), Place(-7, 13, "end"))
"""Possible positions, the best first."""


class PixelBox(NamedTuple):
    """A rectangle of pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: PixelBox) -> bool:
        """Whether both rectangles overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


class Corner(NamedTuple):
    """The good corner, in percent: upper left of its ground (left, top), its name (x, y)."""

    left: int
    top: int
    x: int
    y: int
    anchor: str

    @property
    def box(self) -> PixelBox:
        """The pixels of the corner's name."""
        x, y = self.x / 100 * WIDTH, self.y / 100 * HEIGHT
        width = LETTER * (len(GOOD) + 1)
        return _plane_line(x, y, width, self.anchor)


@dataclass(frozen=True, slots=True)
class DrawnPoint:
    """One point; positions in percent, from the upper left."""

    name: str
    label: str
    """Text alternative for screen readers."""
    x: float
    y: float
    across: tuple[float, float]
    """Interval of x, from left to right."""
    along: tuple[float, float]
    """Interval of y, from top to bottom."""
    sign: str = ""
    place: Place | None = None
    """Position of the name beside the point; None where it would overlap another name."""


class DrawnPlane(NamedTuple):
    """A plane for the template."""

    plane: Plane
    points: Sequence[DrawnPoint]
    corner: Corner | None


@draw.register
def _(block: Plane, folder: Path) -> Drawn:  # noqa: ARG001 - as for all blocks
    corner = _corner(block)
    points = place_names([_point(point, block) for point in block.points], corner)
    return Drawn("plane", DrawnPlane(block, points, corner), block.level == "detail", block.title)


def _corner(plane: Plane) -> Corner | None:
    if not plane.x.better or not plane.y.better:
        return None
    on_right, below = plane.x.better == "high", plane.y.better == "low"
    across = (67, 99, "end") if on_right else (0, 1, "start")
    down = (67, 98) if below else (0, 5)
    return Corner(across[0], down[0], across[1], down[1], across[2])


def _point(point: Point, plane: Plane) -> DrawnPoint:
    # SVG counts y from the top.
    x, y = (Scale(axis.low, axis.high) for axis in (plane.x, plane.y))
    values = (
        f"{axis.name} {plain_interval(value, axis.digits)}"
        for axis, value in ((plane.y, point.y), (plane.x, point.x))
    )
    return DrawnPoint(
        point.name,
        f"{point.series}{', ' * bool(point.series)}{point.name}: {', '.join(values)}",
        x.at(point.x.estimate),
        100.0 - y.at(point.y.estimate),
        (x.at(point.x.low), x.at(point.x.high)),
        (100.0 - y.at(point.y.high), 100.0 - y.at(point.y.low)),
        point.sign,
    )


def place_names(points: Sequence[DrawnPoint], corner: Corner | None) -> tuple[DrawnPoint, ...]:
    """Give each point's name a place without overlap, where there is one, from top to bottom."""
    boxes = [*([corner.box] if corner else []), *map(mark_of, points)]
    placed: dict[int, Place | None] = {}
    for number in sorted(range(len(points)), key=lambda k: points[k].y):
        point = points[number]
        obstacles = [box for box in boxes if box != mark_of(point)]
        free = (place for place in PLACES if _is_free(name_box(point, place), obstacles))
        placed[number] = place = next(free, None)
        if place:
            boxes.append(name_box(point, place))
    return tuple(replace(point, place=placed[k]) for k, point in enumerate(points))


def mark_of(point: DrawnPoint) -> PixelBox:
    """Return the pixels of a point's dot or sign."""
    x, y = point.x / 100 * WIDTH, point.y / 100 * HEIGHT
    return PixelBox(x - 4, y - 4, x + 4, y + 4)


def name_box(point: DrawnPoint, place: Place) -> PixelBox:
    """Return the pixels of a point's name at this place."""
    x, y = point.x / 100 * WIDTH + place.dx, point.y / 100 * HEIGHT + place.dy
    return _plane_line(x, y, LETTER * len(point.name), place.anchor)


def _plane_line(x: float, y: float, width: float, anchor: str) -> PixelBox:
    left = x if anchor == "start" else x - width
    return PixelBox(left, y - ABOVE, left + width, y + BELOW)


def _is_free(name: PixelBox, boxes: Sequence[PixelBox]) -> bool:
    inside = name.left >= 0 and name.right <= WIDTH and name.top >= 0 and name.bottom <= HEIGHT
    return inside and not any(name.meets(box) for box in boxes)


@dataclass(frozen=True, slots=True)
class DrawnSection:
    """A section for the template."""

    anchor: str
    title: str
    blocks: Sequence[Drawn]
    holds: str = ""
    """What a folded section holds, in words; "" for an open one."""


@dataclass(frozen=True, slots=True)
class DrawnCell:
    """A cell of a table."""

    text: str
    interval: str = ""
    """Ends of the interval; "" without an interval."""
    best: bool = False
    outcome: Outcome | None = None
    """Verdict, drawn as its mark."""
    shade: str = ""
    """Colour class of the ground, in tenths: "male-10" is all male, "even" between both."""
    title: str = ""
    """Text shown on hovering."""


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
    has_verdicts: bool


class BarRow(NamedTuple):
    """One bar of a BarTable."""

    row: ChartRow
    reference: str
    cells: list[DrawnCell]
    is_whole: bool
    """Whether the bar has the name of the first bar."""
    is_first: bool
    """Whether the previous bar has another name."""


def drawn(sections: Sequence[Section], folder: Path, *, folded: bool = False) -> list[DrawnSection]:
    """Return the sections for the template; links to full pictures are relative to ``folder``."""
    return [
        DrawnSection(s.anchor, s.title, list(_blocks(s.blocks, folder)), held(s) if folded else "")
        for s in sections
    ]


def held(section: Section) -> str:
    """Return what a section holds: ``17 rows, 1 failed, 2 passed; 8 pictures``.

    >>> held(Section("Cost", (Paragraph("Seven passes."),)))
    'a paragraph'
    """
    charts = [block for block in section.blocks if isinstance(block, BarChart)]
    tables = [block for block in section.blocks if isinstance(block, Table)]
    curves = sum(isinstance(block, CurveChart | Plane) for block in section.blocks)
    shown = sum(len(b.pictures) for b in section.blocks if isinstance(b, Album | Overlays))
    outcomes = [bar.outcome for chart in charts for bar in chart.bars]
    outcomes += [
        cell for t in tables for row in t.rows for cell in row if isinstance(cell, Outcome)
    ]
    rows = sum(len(chart.bars) for chart in charts) + sum(len(table.rows) for table in tables)
    counts = {"row": rows, "curve": curves, "picture": shown}
    held = [several(count, what) for what, count in counts.items() if count]
    return ", ".join([*held, *outcome_counts(outcomes)]) or "a paragraph"


def _blocks(blocks: Sequence[Block], folder: Path) -> Iterator[Drawn]:
    """Yield the blocks in order, and consecutive blocks that may stand side by side as one."""
    for is_beside, run in groupby(_drawn(blocks, folder), key=lambda drawing: drawing.beside):
        if is_beside:
            yield Drawn("beside", list(run))
        else:
            yield from run


def _drawn(blocks: Sequence[Block], folder: Path) -> list[Drawn]:
    """Return the blocks in order, consecutive bar charts as one block of charts."""
    drawings: list[Drawn] = []
    for is_chart, run in groupby(blocks, lambda b: isinstance(b, BarChart) and not b.columns):
        if is_chart:
            drawings.append(Drawn("charts", _charts([c for c in run if isinstance(c, BarChart)])))
        else:
            drawings += [draw(block, folder) for block in run]
    return drawings


def _charts(charts: Sequence[BarChart]) -> Charts:
    reference = next((chart.reference for chart in charts if chart.reference), "")
    groups = [_group(chart) for chart in charts]
    return Charts(two_columns(groups), any(map(_has_limits, charts)), reference)


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
    block = without_empty_columns(block)
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
    block = without_empty_columns(block)
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
    has_verdicts = any(bar.outcome is not None for bar in block.bars)
    ends = (f"{block.low:g}", f"{block.high:g}")
    content = BarTable(block, *ends, rows, _has_limits(block), has_verdicts)
    return Drawn("bar_table", content, block.level == "detail", block.title)


def _row_of_table(bar: Bar, chart: BarChart, scale: Scale) -> ChartRow:
    """Return the row of a bar; without an interval its value is the reason."""
    row = _row(bar, chart, scale)
    return replace(row, value=bar.absent) if bar.interval is None and bar.absent else row


def _cell(cell: Cell, digits: int, form: Form = "", *, best: bool = False) -> DrawnCell:
    """Return a cell with true minus signs, and a dash for None."""
    if isinstance(cell, Outcome):
        return DrawnCell(cell.value, "", best, cell)
    if isinstance(cell, Tint):
        return DrawnCell(cell.text, "", best, None, _shade(cell.share), cell.title)
    if cell is None or isinstance(cell, str):
        return DrawnCell("\u2013" if cell is None else cell, "", best)
    return DrawnCell(*_number(cell, digits, form), best)


def _shade(share: float | None) -> str:
    tenths = 0 if share is None else round(abs(share) * 10)
    return f"{'male' if (share or 0.0) > 0 else 'female'}-{tenths}" if tenths else "even"


def _number(cell: Cell, digits: int, form: Form) -> tuple[str, str]:
    """Return the texts of a cell's value and of its interval, with true minus signs."""
    value, ends = (part.replace("-", MINUS) for part in cell_parts(cell, digits, form))
    return value, ends


@draw.register
def _(block: Album, folder: Path) -> Drawn:
    small = thumbnails(picture.path for picture in block.pictures if picture.path)
    shown = [_picture(picture, small, folder) for picture in block.pictures]
    left = iter(shown)
    rows = [list(islice(left, count)) for count in block.rows]
    return Drawn("album", {"album": block, "rows": rows, "pictures": shown})


def _picture(picture: Picture, small: Mapping[str, str], folder: Path) -> pictures.Picture:
    file = picture.path or ""
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
    pairs = [(overlay(picture), picture) for picture in block.pictures]
    return Drawn("overlays", pairs, block.level == "detail", "Pictures")


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


def _row(bar: Bar, chart: BarChart, scale: Scale) -> ChartRow:
    reference = None if bar.reference is None else scale.at(bar.reference)
    limits = tuple(scale.at(limit) for limit in bar.limits)
    zero = scale.at(chart.middle) if chart.low < chart.middle < chart.high else None
    if bar.interval is None:
        words = "no interval"
        track = Track(bar.absent or words, limits=limits, reference=reference, zero=zero)
        words = bar.absent if chart.score and bar.absent else words
    else:
        interval = bar.score if chart.score else bar.interval
        words = " ".join(_number(interval, chart.digits, chart.form)).strip()
        track = _track(bar, bar.interval, chart, words)
        track = replace(track, limits=limits, reference=reference, zero=zero)
    return ChartRow(bar.name, track, words, bar.note, bar.outcome, bar.anchor)


def _track(bar: Bar, interval: Interval, chart: BarChart, words: str) -> Track:
    scale = Scale(chart.low, chart.high)
    name = f"{bar.note}; {chart.score}" if chart.score else chart.unit
    is_over = bar.score is not None and bar.score.estimate > 0.0
    return Track(
        f"{name} {words}".strip(),
        kind="over" if is_over else bar.kind or "plain",
        bar=scale.span(chart.middle, interval.estimate),
        whisker=(scale.at(interval.low), scale.at(interval.high)),
    )
