"""Blocks of a report: frozen data without rendering."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from pytest_t2i.data import (
    JPEG,
    About,
    Bounds,
    Interval,
    LabelledPath,
    Mask,
    Outcome,
    PicturePath,
    Scalar,
)

Level = Literal["summary", "body", "page", "detail"]
"""The place of a block. The terminal shows "summary"; Markdown shows "summary" and "body"; the
page shows all, and folds "detail" away."""
Form = Literal["", "signed", "percent", "fine percent", "signed percent"]
"""The format of numbers: 0.25, +0.25, 25 %, 25.0 %, and +25.0 % for values given in percent."""


Values = tuple[float, ...]
"""One value per step."""
PICTURE = re.compile(rf"{re.escape(JPEG)}[A-Za-z0-9+/=]*")
"""A JPEG as a data URI."""


@dataclass(frozen=True, slots=True)
class CurveChart:
    """A mean curve over steps, with its band and the curves of single images.

    >>> CurveChart("nurse: hat", (0.1, 0.4), -0.5, 0.5).steps
    2
    """

    title: str
    mean: Values
    """Mean at each step; () if it is not known at every step."""
    low: float
    """Lower end of the scale."""
    high: float
    """Upper end of the scale; a line marks 0 between both."""
    note: str = ""
    label: str = ""
    """Text alternative for screen readers."""
    band: tuple[Values, Values] = ((), ())
    """Lower and upper ends of intervals of the mean; () for none."""
    curves: tuple[Values, ...] = ()
    """Curves of single images, drawn thin."""
    last: str = ""
    """Name of the last step; "" for its number."""
    strips: tuple[str, ...] = ()
    """Pictures below the chart, each a JPEG as a data URI."""
    alt: str = ""
    """Text alternative of each strip."""
    form: Form = ""
    """Format of the ends of the scale."""
    level: Level = "page"
    first: str = ""
    """Name of the first step; "" for its number."""

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(
                f"chart {self.title!r}: expected low < high, got low={self.low!r}, "
                f"high={self.high!r}"
            )
        _check_lengths(self.title, self.steps, (*self.band, *self.curves))
        # Anything but a data URI would make the page fetch a picture.
        if no_picture := next((strip for strip in self.strips if not PICTURE.fullmatch(strip)), ""):
            raise ValueError(
                f"chart {self.title!r}: expected strips as {JPEG}..., got {no_picture!r:.80}"
            )

    @property
    def steps(self) -> int:
        return len(self.mean)


def _check_lengths(title: str, steps: int, curves: Sequence[Values]) -> None:
    for values in curves:
        if values and len(values) != steps:
            raise ValueError(
                f"chart {title!r}: expected {steps} values in every curve, as the mean has, got "
                f"{len(values)}"
            )


@dataclass(frozen=True, slots=True)
class Overlay:
    """A picture with a region outlined, darkened where the model's attention was low."""

    file: PicturePath | None
    """Path of the image; None without an image."""
    region: Mask
    """Outlined region."""
    attention: Mask
    """Region that stays bright."""
    words: tuple[str, ...]
    """Lines below the picture, the first one in bold."""
    alternative: str
    """Text alternative for screen readers."""


@dataclass(frozen=True, slots=True)
class Overlays:
    """The pictures with overlays side by side, which only the page shows.

    >>> whole = Mask(1, 1, (0, 1))
    >>> Overlays((Overlay("a.png", whole, whole, ("tie",), "a tie"),)).level
    'page'
    """

    pictures: tuple[Overlay, ...]
    level: Level = "page"


Better = Literal["", "low", "high"]
"""The good end of an axis; "" for neither."""


class Axis(NamedTuple):
    """One axis of a plane.

    >>> Axis("WALS", 0.0, 0.2, better="high").digits
    3
    """

    name: str
    low: float
    high: float
    digits: int = 3
    """Decimal places of numbers."""
    better: Better = ""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a plane.

    >>> some = Interval(0.2, 0.1, 0.3, 0.95, "", 20)
    >>> Point("beard", some, some, "sdxl", "A").series
    'sdxl'
    """

    name: str
    x: Interval
    y: Interval
    series: str = ""
    """Series of the point, such as a model, if the plane shows several."""
    sign: str = ""
    """Letter drawn instead of a dot, to distinguish series."""


@dataclass(frozen=True, slots=True)
class Plane:
    """A plane of points, each with intervals in both directions.

    If both axes have a better end, their common corner is marked as the good one.

    >>> Plane("Iranian", Axis("WALS", 0.0, 1.0), Axis("score", 0.0, 1.0), ()).level
    'body'
    """

    title: str
    x: Axis
    y: Axis
    points: tuple[Point, ...]
    level: Literal["summary", "body", "detail"] = "body"

    def __post_init__(self) -> None:
        for axis in (self.x, self.y):
            if not axis.low < axis.high:
                raise ValueError(f"plane {self.title!r}: expected low < high, got {axis!r}")


class Tint(NamedTuple):
    """A cell whose ground is coloured by how far it lies towards a group.

    >>> Tint("0.40", 0.4).title
    ''
    """

    text: str
    share: float | None = None
    """From -1, all female, to 1, all male; None for no colour."""
    title: str = ""
    """Text shown on hovering."""

    def __str__(self) -> str:
        return self.text


Cell = str | int | float | Interval | Bounds | Outcome | Tint | None
"""The value of a table's cell; None if nothing is known."""


class Judged(Protocol):
    """The properties of a check that a bar shows."""

    @property
    def outcome(self) -> Outcome:
        """The verdict."""

    @property
    def bound(self) -> float:
        """The bound of the value."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One or more sentences that state a result.

    >>> Paragraph("The lowest score is 0.19.", "summary").level
    'summary'
    """

    text: str
    level: Level = "body"
    outcome: Outcome | None = None
    """Verdict that the text is about, shown as mark and colour."""


@dataclass(frozen=True, slots=True)
class Note:
    """One or more sentences that explain a result: the meaning of a score, how to read it."""

    text: str
    level: Level = "body"


Best = Literal["", "high", "low", "zero"]
"""The best value of a column: the highest, the lowest, the nearest to 0; "" for none."""


class Column(NamedTuple):
    """A column of a table.

    >>> Column("F1", "high").style
    ''
    """

    name: str
    best: Best = ""
    style: Form = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with named columns, which exports use, too.

    >>> Table("shares", ("group", "share"), (("male", 0.6), ("female", 0.4))).columns
    ('group', 'share')
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """Rows as long as ``columns``; the first cell names the row."""
    level: Level = "body"
    digits: int = 3
    """Decimal places of numbers."""
    best: tuple[Best, ...] = ()
    """Value of each column that is set in bold; () for none."""
    form: Form = ""
    """Format of all numbers."""
    styles: tuple[Form, ...] = ()
    """Format of the numbers of each column; () for ``form`` in all columns."""
    names: int = 1
    """Number of first cells that name a row together."""
    whole: bool = False
    """Whether a summary shows every row, however many there are."""
    anchors: tuple[str, ...] = ()
    """Anchor to which each row's name links, "" for no link; () for none."""

    @classmethod
    def of(
        cls,
        caption: str,
        columns: Sequence[Column],
        rows: tuple[tuple[Cell, ...], ...],
        **more: Any,
    ) -> Table:
        """Return a table from Column objects, which hold the format and best value of each column.

        >>> Table.of("off by", [Column("model"), Column("off", "zero")], ()).best
        ('', 'zero')
        """
        names, best, styles = zip(*columns, strict=True)
        return cls(caption, names, rows, best=best, styles=styles, **more)

    def style(self, column: int) -> Form:
        return self.styles[column] if column < len(self.styles) else self.form

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.caption!r}: expected {len(self.columns)} cells in every row, got "
                    f"{row!r}"
                )


@dataclass(frozen=True, slots=True)
class Bar:
    """One value of a chart with its interval and its verdict.

    >>> Bar("hat", Interval(0.2, 0.1, 0.3, 0.95, "", 20), limits=(0.15,)).absent
    ''
    """

    name: str
    interval: Interval | None
    """Value and interval; None without evidence, with the reason in ``absent``."""
    note: str = ""
    """Remark on the value, such as the number of images."""
    absent: str = ""
    limits: tuple[float, ...] = ()
    """Bounds of the checks of the value."""
    outcome: Outcome | None = None
    """Worst verdict on the value; None without a check."""
    reference: float | None = None
    """Value to compare with: a real-world share, the fair-model floor."""
    anchor: str = ""
    """Anchor to which the name links; "" for no link."""
    cells: tuple[Cell, ...] = ()
    """Further cells, under the columns of the chart."""
    kind: str = ""
    """Colour: "male", "female" or "" for a plain bar."""
    score: Interval | None = None
    """Number printed beside the bar instead of its interval, if the chart names a ``score``."""

    @classmethod
    def judged(
        cls, name: str, interval: Interval | None, checks: Iterable[Judged], **more: Any
    ) -> Bar:
        """Return a bar with the limits and the worst verdict of the value's checks."""
        checks = list(checks)
        return cls(
            name,
            interval,
            limits=tuple(dict.fromkeys(check.bound for check in checks)),
            outcome=worst(checks),
            **more,
        )


WORST_FIRST = (Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS)


def worst(checks: Iterable[Judged]) -> Outcome | None:
    """Return the worst outcome, FAIL before INCONCLUSIVE before PASS; None without a check."""
    outcomes = {check.outcome for check in checks}
    return next((outcome for outcome in WORST_FIRST if outcome in outcomes), None)


def round_end(intervals: Iterable[Interval | None], ends: Sequence[float]) -> float:
    """Return the first of these ends of a scale that no interval exceeds, else the last.

    >>> round_end([Interval(0.1, 0.05, 0.15, 0.95, "", 9), None], (0.1, 0.2, 1.0))
    0.2
    """
    most = max((interval.high for interval in intervals if interval), default=0.0)
    return next((end for end in ends if end >= most), ends[-1])


@dataclass(frozen=True, slots=True)
class BarChart:
    """A chart of bars on one scale.

    >>> BarChart("Iranian", (), 0.0, 1.0, unit="WALS").high
    1.0
    """

    title: str
    bars: tuple[Bar, ...]
    low: float
    """Left end of the scale."""
    high: float
    """Right end of the scale."""
    unit: str = ""
    """Name of the values."""
    note: str = ""
    digits: int = 3
    """Decimal places of numbers."""
    level: Level = "body"
    columns: tuple[str, ...] = ()
    """Names of the bars' ``cells``. With any, the chart is a table with bars, and ``note`` names
    its first column."""
    reference: str = ""
    """Meaning of the bars' references; "" without references."""
    form: Form = ""
    """Format of the numbers."""
    ends: tuple[str, str] = ("", "")
    """Meaning of the ends of the scale."""
    middle: float = 0.0
    """Value at which bars begin; they begin at the nearest end if it lies outside of the scale."""
    score: str = ""
    """Name of the number printed beside the bars, such as an excess over the reference; "" prints
    the bars' intervals."""

    def __post_init__(self) -> None:
        for bar in self.bars:
            if len(bar.cells) != len(self.columns):
                raise ValueError(
                    f"chart {self.title!r}: expected {len(self.columns)} cells of every bar, got "
                    f"{bar.cells!r} of {bar.name!r}"
                )
        if not self.low < self.high:
            raise ValueError(
                f"chart {self.title!r}: expected low < high, got low={self.low!r}, "
                f"high={self.high!r}"
            )


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture with words below it."""

    file: PicturePath | None
    """Path of the image; None without an image, and for one that people labelled."""
    word: str
    """Label that counts, in one or two words."""
    others: tuple[str, ...] = ()
    """Further lines."""
    title: str = ""
    """Text shown on hovering."""
    kind: str = ""
    """Colour of the frame: "male", "female", "undetected" or "" for a plain one."""
    labelled: LabelledPath | None = None
    """Path of an image that people labelled; None for one that a model made."""

    @property
    def path(self) -> str | None:
        """The path of the image, whoever made it."""
        return self.labelled or self.file


COLUMNS = 6
"""Largest number of pictures beside each other in an album of equal columns."""


@dataclass(frozen=True, slots=True)
class Album:
    """The pictures under one heading, folded away on the page unless the level is "body"."""

    title: str
    pictures: tuple[Picture, ...]
    note: str = ""
    """Counts, such as the number of pictures per label."""
    text: str = ""
    """Explanation of the pictures."""
    left_out: int = 0
    """Number of pictures that are not shown."""
    level: Level = "detail"
    rows: tuple[int, ...] = ()
    """Numbers of pictures of the rows that share columns at every width; () for one row that is
    broken where the page ends."""

    @classmethod
    def side_by_side(cls, title: str, rows: Sequence[Sequence[Picture]], **more: Any) -> Album:
        """Return an album in which pictures with the same place in their row share a column.

        Args:
            title: heading of the album.
            rows: equally many pictures per row, as of the same seeds by each model.
            more: further fields of the album.

        >>> before, after = ([Picture(None, word)] * 8 for word in ("before", "after"))
        >>> [picture.word for picture in Album.side_by_side("", [before, after]).pictures][5:8]
        ['before', 'after', 'after']
        """
        starts = range(0, max(map(len, rows), default=0), COLUMNS)
        bands = [row[first : first + COLUMNS] for first in starts for row in rows]
        pictures = tuple(picture for band in bands for picture in band)
        return cls(title, pictures, rows=tuple(map(len, bands)), **more)


@dataclass(frozen=True, slots=True)
class RowChart:
    """A chart of an audit's rows: a bar for each, with the limits and verdicts of its checks.

    >>> RowChart("All triplets", ("refusal_gap",), "model").subjects
    ()
    """

    title: str
    metrics: tuple[str, ...]
    """Metrics of the rows; of several, each bar has the name of its metric."""
    about: About = "model"
    """What the subjects of the rows are."""
    subjects: tuple[str, ...] = ()
    """Subjects that are shown, in this order; () shows all."""
    dims: tuple[tuple[str, Scalar], ...] = ()
    """Dimensions that the rows must have."""
    columns: tuple[str, ...] = ()
    """Counts and facts that stand beside each bar."""
    unit: str = ""
    """Name of the values; "" takes the metric's."""
    note: str = ""
    digits: int = 3
    """Decimal places of numbers."""
    level: Level = "body"
    ends: tuple[str, str] = ("", "")
    """Meaning of the ends of the scale."""
    reference: str = ""
    """Fact to compare the value with, such as ``fair_model``; "" for none."""
    high: float | None = None
    """Right end of the scale; None for the largest value of the metric."""


Block = Paragraph | Note | Table | BarChart | CurveChart | Plane | Album | Overlays | RowChart


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a report with its blocks."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def anchor(self) -> str:
        """The anchor of links to the section.

        >>> Section("Variety along an attribute", ()).anchor
        'variety-along-an-attribute'
        """
        return "-".join(self.title.casefold().split())


HALF_WIDTHS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


def half_width(reach: float) -> float:
    """Return the smallest round number that is at least ``reach``, else ``reach`` itself.

    >>> half_width(0.03), half_width(3.0)
    (0.05, 3.0)
    """
    return next((width for width in HALF_WIDTHS if width >= reach), reach)
