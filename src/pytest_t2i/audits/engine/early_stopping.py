"""How the number of images of a test was chosen, where it depends on the images made so far.

A prompt, or a stereotype, stops by its own images alone. Which of the members that stopped beyond
their limit FAIL is decided for all of them at once, when every member has stopped
(docs/decisions/0014-group-sequential.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pytest_t2i.data import Evidence, Outcome
from pytest_t2i.statistics.families import storey
from pytest_t2i.statistics.group_sequential import SequentialTest

State = Literal["open", "beyond", "within", "hopeless"]


@dataclass(frozen=True, slots=True)
class Stopping:
    """The looks at the images of a test.

    >>> Stopping((14, 17, 21), SequentialTest(100, 0.5)).images
    21
    """

    looks: tuple[int, ...]
    """Images per prompt at each look so far."""
    test: SequentialTest
    """The test at each look."""

    @property
    def images(self) -> int:
        return self.looks[-1]

    @property
    def most(self) -> int:
        """Images per prompt at the last look that was planned."""
        return self.test.most


class StoppingRule:
    """How tests of a fixture may stop early: those that compare one metric once with a limit."""

    metric: str
    """Name of the metric."""

    def test(self, selection: Any, test: SequentialTest) -> SequentialTest | None:
        """Return the test by which a member stops by its own images; None for all its images."""
        del selection
        return test

    def state(self, value: Any) -> State:
        """Return the state that the images of the fixture's value have reached."""
        raise NotImplementedError


class Shown(NamedTuple):
    """What the images of one member of a family show.

    A lean is |male - female|, or the number of images that show a stereotype.

    >>> Shown(((14, 14), (17, 17)), 17, 17).least
    17
    """

    looks: tuple[tuple[int, int], ...]
    """(images that count, images made) at each look that added images that count."""
    least: int
    """Smallest possible lean at the last look, over all labels of the undetected images."""
    largest: int

    def state(self, test: SequentialTest) -> State:
        """Return the state that the member's own images have reached."""
        if not self.looks:
            return "open"
        outcome = test.outcome(self.looks, self.least, self.largest)
        if outcome is Outcome.FAIL:
            return "beyond"
        if outcome is Outcome.PASS:
            return "within"
        hopeless = test.is_hopeless(self.looks, self.least, self.largest)
        return "hopeless" if hopeless else "open"

    def p_value(self, test: SequentialTest) -> float:
        """Return the p-value against "within the bound"; 1 where it did not stop beyond it."""
        if not self.looks:
            return 1.0
        at_the_end = self.looks[-1][1] >= test.most
        state = self.state(test)
        if state == "beyond" or (state == "open" and at_the_end):
            return test.p_value(self.looks, self.least)
        return 1.0


def evidence(
    shown: Sequence[Shown], tests: Sequence[SequentialTest], level: float
) -> list[Evidence]:
    """Return the evidence of a family: FAIL by a shared false discovery rate, PASS each by itself.

    Stage-wise p-values are adjusted by Storey's method.
    """
    pairs = list(zip(shown, tests, strict=True))
    beyond = storey([member.p_value(test) for member, test in pairs], level)
    within = [
        1.0 - test.level if each_shown.state(test) == "within" else 1.0
        for each_shown, test in pairs
    ]
    return [Evidence(min(1.0, float(b)), w) for b, w in zip(beyond, within, strict=True)]
