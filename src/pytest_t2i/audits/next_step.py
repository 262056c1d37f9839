"""What to do next, as an audit proposes it."""

from __future__ import annotations

from typing import NamedTuple

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
