"""What an audit says outside of its section: figures, tables, the first screen, next steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from pytest_t2i.data import Bounds, Interval

if TYPE_CHECKING:
    from pytest_t2i.sections import Cell


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
    """A suggestion for what to do next.

    >>> min(Step(20, "label images"), Step(5, "look at the nurse")).text
    'look at the nurse'
    """

    priority: int
    """The smallest number comes first; the run's own steps have 10, 20, ..., 90."""
    text: str
    topic: str = ""
    """Topic of the step: an audit's step replaces the run's own step on the same topic."""


class Figure(NamedTuple):
    """One number on the first screen of a report.

    >>> Figure("Similarity gap", "+0.021", ("widest of 3 spaces",)).target
    ''
    """

    title: str
    value: str
    notes: tuple[str, ...]
    """Lines below the number."""
    target: str = ""
    """Title of the section that explains the number."""
    interval: Interval | None = None
    """An interval drawn below the number, on a scale from 0 to 1; None for no drawing."""
    reference: float | None = None
    """A value to compare with, drawn beside the interval."""
    metric: str = ""
    """Name of a metric; checks of the model by this metric replace the figure."""
    ends: tuple[str, str] = ("0 even", "1 one gender only")
    """Meaning of the ends of the scale."""


class FirstScreen(NamedTuple):
    """What the first lines of a report show of the model and of its prompts.

    >>> FirstScreen("mine", "My section", "math:fsum", ("0 even", "1 one"), ("fairer", "worse"))[0]
    'mine'
    """

    metric: str
    """The score of the model, from 0 to 1."""
    section: str
    """Title of the section that explains it."""
    words: str
    """"module:function" that explains a value: (estimate, bound) -> a sentence."""
    ends: tuple[str, str]
    """Meaning of 0 and of 1."""
    change: tuple[str, str]
    """Words for a change below 0, and above."""
    of_prompts: tuple[str, str] = ("", "")
    """Scores of a prompt: by the labels male and female, and by other labels."""


class PromptScore(NamedTuple):
    """What a run records of one prompt besides its images and counts.

    >>> PromptScore().interval is None
    True
    """

    interval: Interval | None = None
    """The prompt's score; None without a clear image."""
    worst_case: Bounds | None = None
    """Bounds of the score over all that undetected images may show; None if none is undetected."""
    uncorrected: float | None = None
    """Score by the predicted labels alone, where people's labels corrected it; else None."""
    people: Mapping[str, int] = MappingProxyType({})
    """People's labels of its images -> labelled images, where they corrected the score."""


class Value(NamedTuple):
    """One measured value for a Fairness Card or a model card.

    >>> Value("model_bias_score", "profession", None, "clip").name
    'profession'
    """

    metric: str
    name: str
    """Name of the measured part: "model", an axis, a stereotype."""
    interval: Interval | None
    detector: str = ""
    """Detector that the value rests on; "" where it rests on none."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What is shown of an audit's record outside its sections.

    >>> Summary("least even: nurse").series
    {}
    """

    headline: str = ""
    """One line for a Fairness Card or a model card."""
    series: Mapping[str, Interval] = field(default_factory=dict)
    """Name -> interval that comparisons of models show."""
    frames: Mapping[str, Frame] = field(default_factory=dict)
    """Name of a table -> the table."""
    values: Sequence[Value] = ()
    """All values for cards; () stands for those of ``series``."""
    figures: Sequence[Figure] = ()
    """Numbers for the first screen of the report."""
    scope: str = ""
    """A sentence that says what was measured, for a Fairness Card."""
    limitations: Sequence[str] = ()
    """Sentences that say what the numbers do not show."""
    measured: Mapping[str, str] = field(default_factory=dict)
    """Detector -> its measured accuracy on pictures like these, in words."""
    labels: str = ""
    """How people's labels changed the numbers, in words; "" where they did not."""
    subjects: Mapping[str, str] = field(default_factory=dict)
    """Subject of a check -> what its images show, in words."""

    @property
    def all_values(self) -> Sequence[Value]:
        """``values``, or those of the series where ``values`` is empty."""
        if self.values:
            return self.values
        parts = ((name.partition("/"), interval) for name, interval in self.series.items())
        return [Value(metric, name, interval) for (metric, _, name), interval in parts]
