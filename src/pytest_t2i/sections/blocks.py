"""The blocks that a section is made of: frozen data, no rendering."""

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
"""What a cell of a table holds; None: nothing is known."""


class Judged(Protocol):
    """What a bar needs to know of a check."""

    @property
    def outcome(self) -> Outcome:
        """Its verdict."""

    @property
    def bound(self) -> float:
        """What the value was compared with."""

    @property
    def lean(self) -> float | None:
        """Posterior probability that the value lies beyond, where that is not decided."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences that state a result.

    >>> Paragraph("The lowest Vendi score is 1.9.", "summary").level
    'summary'
    """

    text: str
    level: Level = "body"
    outcome: Outcome | None = None
    """The verdict that it tells of: its mark and its colour."""


@dataclass(frozen=True, slots=True)
class Note:
    """Sentences that explain what is shown: what a score means, and how to read it."""

    text: str
    level: Level = "body"


Best = Literal["", "high", "low", "zero"]
"""Which value of a column is the best one; "" for none."""


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
    """Rows of cells under named columns; exports take the same tables.

    >>> Table("shares", ("group", "share"), (("male", 0.6), ("female", 0.4))).columns
    ('group', 'share')
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """Each as long as ``columns``; the first cell names the row."""
    level: Level = "body"
    digits: int = 3
    """Decimal places of numbers."""
    best: tuple[Best, ...] = ()
    """Which value of each column is set in bold; () for none."""
    form: Form = ""
    """How its numbers are written."""
    styles: tuple[Form, ...] = ()
    """The same of each column; () for all as ``form`` says."""
    names: int = 1
    """How many of its first cells name a row together."""
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
        """A table from columns that say how they are written, and which of their values is best.

        >>> Table.of("off by", [Column("model"), Column("off", "zero")], ()).best
        ('', 'zero')
        """
        names, best, styles = zip(*columns, strict=True)
        return cls(caption, names, rows, best=best, styles=styles, **more)

    def style(self, column: int) -> Form:
        """How the numbers of a column are written."""
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
    """One value of a chart with its interval, and what was judged of it.

    >>> Bar("hat", Interval(0.2, 0.1, 0.3, 0.95, "", 20), limits=(0.15,)).absent
    ''
    """

    name: str
    interval: Interval | None
    """None without evidence; ``absent`` then says why."""
    note: str = ""
    """More about it: how many images, by what."""
    absent: str = ""
    limits: tuple[float, ...] = ()
    """Bounds that it was compared with."""
    outcome: Outcome | None = None
    """The worst verdict on it; None where nothing was judged."""
    lean: float | None = None
    """Posterior probability that it lies beyond the limit, where that is not decided."""
    reference: float | None = None
    """A value to compare with: a real-world share, what a fair model would show."""
    anchor: str = ""
    """Identifier of what the name links to; "" for no link."""
    cells: tuple[Cell, ...] = ()
    """More of it, under the columns of its chart."""
    kind: str = ""
    """Its colour: "male", "female" or "" for a plain one."""
    score: Interval | None = None
    """Written beside the bar in the place of its interval, where the chart names a ``score``."""

    @classmethod
    def judged(
        cls, name: str, interval: Interval | None, checks: Iterable[Judged], **more: Any
    ) -> Bar:
        """A bar with the limits and the worst verdict of the checks that were made of it."""
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
    """FAIL before INCONCLUSIVE before PASS; None without a check."""
    outcomes = {check.outcome for check in checks}
    return next((outcome for outcome in WORST_FIRST if outcome in outcomes), None)


def strongest_lean(checks: Iterable[Judged]) -> float | None:
    """Largest lean of inconclusive checks; None where none is known."""
    known = [c.lean for c in checks if c.outcome is Outcome.INCONCLUSIVE and c.lean is not None]
    return max(known, default=None)


def round_end(intervals: Iterable[Interval | None], ends: Sequence[float]) -> float:
    """The first of these ends of a scale that no interval goes beyond, else the last.

    >>> round_end([Interval(0.1, 0.05, 0.15, 0.95, "", 9), None], (0.1, 0.2, 1.0))
    0.2
    """
    most = max((interval.high for interval in intervals if interval), default=0.0)
    return next((end for end in ends if end >= most), ends[-1])


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars on one scale.

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
    """What the numbers are."""
    note: str = ""
    digits: int = 3
    """Decimal places of numbers."""
    level: Level = "body"
    columns: tuple[str, ...] = ()
    """Names of what its bars have as ``cells``. With any, the chart is a table with bars, whose
    first column ``note`` names."""
    reference: str = ""
    """What the references of its bars are; "" where they have none."""
    form: Form = ""
    """How its numbers are written."""
    ends: tuple[str, str] = ("", "")
    """What the ends of its scale stand for."""
    middle: float = 0.0
    """Where bars begin, if it lies on the scale; else they begin at the nearest end."""
    score: str = ""
    """What is made of the bars and written beside them: an excess over the reference; "" for the
    bars' own intervals."""

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
    """Path of the image; None where there is none."""
    word: str
    """The label that counts, in one or two words."""
    others: tuple[str, ...] = ()
    """Further lines."""
    title: str = ""
    """More about it, shown on hovering."""
    kind: str = ""
    """Its frame: "male", "female", "undetected" or "" for a plain one."""


@dataclass(frozen=True, slots=True)
class Album:
    """Pictures under one heading, folded away on the page unless its level is "body"."""

    title: str
    pictures: tuple[Picture, ...]
    note: str = ""
    """How many of what."""
    text: str = ""
    """How to read the pictures."""
    left_out: int = 0
    """Pictures that are not among these."""
    level: Level = "detail"


Block = Paragraph | Note | Table | BarChart | CurveChart | Plane | Album | Overlays


@dataclass(frozen=True, slots=True)
class Section:
    """What one audit has to show."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def anchor(self) -> str:
        """Where a link leads to it.

        >>> Section("How different the images are", ()).anchor
        'how-different-the-images-are'
        """
        return "-".join(self.title.casefold().split())
