"""Curves over the steps of a making: frozen data, no rendering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_t2i.sections.level import Form, Level

Values = tuple[float, ...]
"""One for each step."""


@dataclass(frozen=True, slots=True)
class CurveChart:
    """One mean curve over steps, with what is known around it.

    >>> CurveChart("nurse: hat", (0.1, 0.4), -0.5, 0.5).steps
    2
    """

    title: str
    mean: Values
    """() where it is not known at every step."""
    low: float
    """Lower end of the scale."""
    high: float
    """Upper end of the scale; a line marks 0 between both."""
    note: str = ""
    label: str = ""
    """The same in words, for who does not see it."""
    band: tuple[Values, Values] = ((), ())
    """Lower and upper ends around the mean; () for none."""
    curves: tuple[Values, ...] = ()
    """Curves of single images, drawn thin."""
    marked: tuple[float, float] | None = None
    """An interval of a step, counted from 1: it is shaded."""
    last: str = ""
    """Name of the last step; "" for its number."""
    strips: tuple[str, ...] = ()
    """Pictures below it, as data URIs."""
    alt: str = ""
    """What a strip shows."""
    form: Form = ""
    """How the ends of the scale are written."""
    level: Level = "page"

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(
                f"chart {self.title!r}: expected low < high, got low={self.low!r}, "
                f"high={self.high!r}"
            )
        _check_lengths(self.title, self.steps, (*self.band, *self.curves))

    @property
    def steps(self) -> int:
        """Steps of the mean curve."""
        return len(self.mean)


def _check_lengths(title: str, steps: int, others: Sequence[Values]) -> None:
    for values in others:
        if values and len(values) != steps:
            raise ValueError(
                f"chart {title!r}: expected {steps} values in every curve, as the mean has, got "
                f"{len(values)}"
            )
