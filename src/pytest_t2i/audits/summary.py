"""What places that show no sections take of an audit's record: figures, series, tables, steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from pytest_t2i.data import Interval

if TYPE_CHECKING:
    from pytest_t2i.sections import Cell

R = TypeVar("R")


class Frame(NamedTuple):
    """A table of numbers for pandas and CSV.

    >>> Frame(("prompt", "score"), [("nurse", 0.4)]).columns
    ('prompt', 'score')
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    intervals: tuple[str, ...] = ()
    """Columns of intervals, each of which becomes three: estimate, low, high."""


AFTER_FAILURE = 40
"""Priority of a step that explains a failure."""


class Step(NamedTuple):
    """Something to do next.

    >>> min(Step(20, "label images"), Step(5, "look at the nurse")).text
    'look at the nurse'
    """

    priority: int
    """The smallest comes first; the run's own steps have 10, 20, ..., 90."""
    text: str
    topic: str = ""
    """What it is about: steps of audits about a topic replace the run's own about it."""


class Figure(NamedTuple):
    """One number of the first screen.

    >>> Figure("Similarity gap", "+0.021", ("widest of 3 spaces",)).target
    ''
    """

    title: str
    value: str
    notes: tuple[str, ...]
    """Lines below it."""
    target: str = ""
    """Title of the section that explains it."""
    interval: Interval | None = None
    """Drawn below it, on a scale from 0 to 1; None for no drawing."""
    reference: float | None = None
    """A value to compare with, drawn beside the interval."""
    metric: str = ""
    """Checks of the model by this metric, where there are any, stand in its place."""


class Value(NamedTuple):
    """One measured value, for a card.

    >>> Value("model_bias_score", "profession", None, "clip").name
    'profession'
    """

    metric: str
    name: str
    """Name of the measured part: "model", an axis, a stereotype."""
    interval: Interval | None
    detector: str = ""
    """Whose word it rests on; "" where it rests on none."""


class NamedRecord(NamedTuple, Generic[R]):
    """What an audit keeps of one of several models.

    >>> NamedRecord("sdxl", {"nurse": 0.4}, None).model
    'sdxl'
    """

    model: str
    record: R
    run: Any
    """The whole RunRecord."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What other places show of an audit's record.

    >>> Summary("least even: nurse").series
    {}
    """

    headline: str = ""
    """One line for a Fairness Card or a model card."""
    series: Mapping[str, Interval] = field(default_factory=dict)
    """Name -> what is followed over versions."""
    frames: Mapping[str, Frame] = field(default_factory=dict)
    """Name of a table -> the table."""
    values: Sequence[Value] = ()
    """Every value, for cards; () takes those of ``series``."""
    figures: Sequence[Figure] = ()
    """Numbers for the first screen of the page."""
    scope: str = ""
    """A sentence that says what was measured, for a Fairness Card."""
    limitations: Sequence[str] = ()
    """Sentences that say what the numbers do not show."""
    measured: Mapping[str, str] = field(default_factory=dict)
    """Detector -> how well it was found to know pictures like these, in a few words."""
    labels: str = ""
    """What people's labels did to the numbers, in a few words; "" where they did nothing."""
    subjects: Mapping[str, str] = field(default_factory=dict)
    """Subject of a check -> what was seen of it, in a few words."""

    @property
    def all_values(self) -> Sequence[Value]:
        """Every value, from the series where there are no others."""
        if self.values:
            return self.values
        parts = ((name.partition("/"), interval) for name, interval in self.series.items())
        return [Value(metric, name, interval) for (metric, _, name), interval in parts]
