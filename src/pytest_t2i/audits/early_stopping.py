"""How the number of images of a test was chosen, where it depends on the images made so far.

A prompt, or a stereotype, stops by its own images alone. Which of the members that stopped beyond
their limit FAIL is decided for all of them at once, when every member has stopped
(docs/decisions/0014-group-sequential.md).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.data import Evidence, Outcome
from pytest_t2i.statistics.families import benjamini_yekutieli, storey
from pytest_t2i.statistics.group_sequential import SequentialTest

if TYPE_CHECKING:
    from pytest_t2i.settings import Settings

Rule = Literal["own", "cut", "again"]
"""What stopped a test: its own images (``own``); the number of images for the whole run (``cut``);
its own images, but after a run with another largest number of images (``again``)."""
FIRST, CONFIRMED = 0.9, 0.1
"""Shares of the error level: for the looks, and for the confirmation by fresh images."""
State = Literal["open", "beyond", "within", "hopeless"]


@dataclass(frozen=True, slots=True)
class Stopping:
    """The looks at the images of a test.

    >>> Stopping((14, 17, 21), 100).images
    21
    """

    looks: tuple[int, ...]
    """Images per prompt at each look so far."""
    most: int
    """Images per prompt at the last look that was planned."""
    test: SequentialTest | None = None
    """The test at each look; None where intervals that hold at every look decide."""
    fresh: int = 0
    """Images per prompt made after the last look, to confirm its result."""
    rule: Rule = "own"

    @property
    def images(self) -> int:
        """Number of images per prompt."""
        return self.looks[-1] + self.fresh

    @property
    def own_test(self) -> SequentialTest | None:
        """The sequential test, where it alone set the number of images; else None."""
        return self.test if self.rule == "own" and not self.fresh else None


class StoppingRule:
    """How tests of a fixture may stop early."""

    def metrics(self, settings: Settings) -> Collection[str]:
        """Return the names of the metrics whose intervals hold at every look."""
        del settings
        return ()

    def test(self, selection: Any, metric: str, test: SequentialTest) -> SequentialTest | None:
        """Return the test by which a member stops by its own images; None if intervals decide."""
        del selection, metric, test
        return None

    def state(self, value: Any) -> State | None:
        """Return the state of the fixture's value; None where the verdict shows it."""
        del value
        return None


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
    fresh: tuple[int, int] | None = None
    """(smallest lean, images) of the fresh images alone; None without any."""

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
    shown: Sequence[Shown], tests: Sequence[SequentialTest], rules: Sequence[Rule]
) -> list[Evidence]:
    """Return the evidence of a family: FAIL by a shared false discovery rate, PASS each by itself.

    Stage-wise p-values are adjusted by Storey's method at 0.9 of the error level. Members that
    stopped beyond their limit and are not rejected may have had fresh images: exact p-values of
    these alone are adjusted by Benjamini-Hochberg at the other tenth. Where the number of images
    for the whole run ended the tests, the images of one member ended those of others: then the
    method of Benjamini and Yekutieli is used, and members that were cut off stay open.
    """
    level = tests[0].level if tests else 0.95
    p_values = np.array([member.p_value(test) for member, test in zip(shown, tests, strict=True)])
    if "cut" in rules:
        adjusted = benjamini_yekutieli(p_values)
    else:
        first = 1.0 - FIRST * (1.0 - level)
        adjusted = np.minimum(1.0, storey(p_values, first) / FIRST)
    beyond = np.minimum(adjusted, _confirmed(shown, tests))
    within = [
        1.0 - level if member.state(test) == "within" else 1.0
        for member, test in zip(shown, tests, strict=True)
    ]
    return [Evidence(float(b), w) for b, w in zip(beyond, within, strict=True)]


def _confirmed(members: Sequence[Shown], tests: Sequence[SequentialTest]) -> np.ndarray:
    """Return adjusted p-values of fresh images, scaled to the whole error level; 1 without any."""
    p_values = np.ones(len(members))
    places = [k for k, member in enumerate(members) if member.fresh is not None]
    if places:
        fresh_p_values = [_fresh_p_value(members[k], tests[k]) for k in places]
        p_values[places] = np.minimum(
            1.0, statistics.benjamini_hochberg(fresh_p_values) / CONFIRMED
        )
    return p_values


def _fresh_p_value(member: Shown, test: SequentialTest) -> float:
    lean, images = member.fresh or (0, 0)
    if not images:
        return 1.0
    if not test.folded:
        return float(statistics.share_p_value(lean, images, test.bound, "above"))
    male = (images + lean) // 2
    return float(statistics.prompt_bias_p_values([male], [images - male], test.bound)[0])
