"""The blocks that a section is made of: frozen data, no rendering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_t2i.data import Interval, Outcome

Level = Literal["summary", "body", "detail"]
"""Where a block is shown. The terminal shows "summary"; Markdown shows "summary" and "body"; the
page shows all, and folds "detail" away."""
Cell = str | int | float | Interval | Outcome | None
"""What a cell of a table holds; None: nothing is known."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences that state a result.

    >>> Paragraph("The lowest Vendi score is 1.9.", "summary").level
    'summary'
    """

    text: str
    level: Level = "body"


@dataclass(frozen=True, slots=True)
class Note:
    """Sentences that explain what is shown: what a score means, and how to read it."""

    text: str
    level: Level = "body"


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
    best: tuple[Literal["", "high", "low", "zero"], ...] = ()
    """Which value of each column is the best one and is set in bold; () or "" for none."""

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

    def __post_init__(self) -> None:
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
    """Its frame: "male", "female" or "" for a plain one."""


@dataclass(frozen=True, slots=True)
class Album:
    """Pictures under one heading, folded away on the page."""

    title: str
    pictures: tuple[Picture, ...]
    note: str = ""
    """How many of what."""
    text: str = ""
    """How to read the pictures."""
    left_out: int = 0
    """Pictures that are not among these."""
    level: Level = "detail"


Block = Paragraph | Note | Table | BarChart | Album


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
