"""The blocks of a section: frozen data without rendering."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from pytest_t2i.data import Bounds, Interval, Outcome
from pytest_t2i.sections.curves import CurveChart
from pytest_t2i.sections.level import Form, Level
from pytest_t2i.sections.overlays import Overlays
from pytest_t2i.sections.planes import Plane

Cell = str | int | float | Interval | Bounds | Outcome | None
"""The value of a table's cell; None if nothing is known."""


class Judged(Protocol):
    """The properties of a check that a bar shows."""

    @property
    def outcome(self) -> Outcome:
        """The verdict."""

    @property
    def bound(self) -> float:
        """The bound of the value."""

    @property
    def lean(self) -> float | None:
        """The posterior probability that an inconclusive value lies beyond the bound."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One or more sentences that state a result.

    >>> Paragraph("The lowest Vendi score is 1.9.", "summary").level
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
        """Return the format of a column's numbers."""
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
    lean: float | None = None
    """Posterior probability that an inconclusive value lies beyond its limit."""
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
            lean=strongest_lean(checks),
            **more,
        )


WORST_FIRST = (Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS)


def worst(checks: Iterable[Judged]) -> Outcome | None:
    """Return the worst outcome, FAIL before INCONCLUSIVE before PASS; None without a check."""
    outcomes = {check.outcome for check in checks}
    return next((outcome for outcome in WORST_FIRST if outcome in outcomes), None)


def strongest_lean(checks: Iterable[Judged]) -> float | None:
    """Return the largest lean of inconclusive checks; None if none is known."""
    known = [c.lean for c in checks if c.outcome is Outcome.INCONCLUSIVE and c.lean is not None]
    return max(known, default=None)


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

    file: str | None
    """Path of the image; None without an image."""
    word: str
    """Label that counts, in one or two words."""
    others: tuple[str, ...] = ()
    """Further lines."""
    title: str = ""
    """Text shown on hovering."""
    kind: str = ""
    """Colour of the frame: "male", "female", "undetected" or "" for a plain one."""


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


Block = Paragraph | Note | Table | BarChart | CurveChart | Plane | Album | Overlays


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a report with its blocks."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def anchor(self) -> str:
        """The anchor of links to the section.

        >>> Section("How different the images are", ()).anchor
        'how-different-the-images-are'
        """
        return "-".join(self.title.casefold().split())
