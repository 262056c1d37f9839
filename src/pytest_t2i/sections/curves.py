"""Curves over denoising steps: frozen data without rendering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_t2i.sections.level import Form, Level

Values = tuple[float, ...]
"""One value per step."""


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
    marked: tuple[float, float] | None = None
    """Shaded interval of steps, counted from 1."""
    last: str = ""
    """Name of the last step; "" for its number."""
    strips: tuple[str, ...] = ()
    """Pictures below the chart, as data URIs."""
    alt: str = ""
    """Text alternative of each strip."""
    form: Form = ""
    """Format of the ends of the scale."""
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
        """The number of steps of the mean curve."""
        return len(self.mean)


def _check_lengths(title: str, steps: int, others: Sequence[Values]) -> None:
    for values in others:
        if values and len(values) != steps:
            raise ValueError(
                f"chart {title!r}: expected {steps} values in every curve, as the mean has, got "
                f"{len(values)}"
            )
