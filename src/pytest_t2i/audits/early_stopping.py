"""How a test's number of images came about where it was chosen while looking at them.

A prompt, or a stereotype, stops by its own images alone; which of those that stopped beyond their
limit FAIL is decided for all of them at once, when every one has stopped
(docs/decisions/0014-group-sequential.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.data import Evidence, Outcome
from pytest_t2i.statistics import SequentialTest

Rule = Literal["own", "cut", "again"]
"""What stopped it: its own images; a number of images for the whole run (``cut``); its own, but
after a run with another number of images at most (``again``)."""
FIRST, CONFIRMED = 0.9, 0.1
"""Shares of the error level for the looks, and for what fresh images confirm."""
State = Literal["open", "beyond", "within", "hopeless"]


@dataclass(frozen=True, slots=True)
class Stopping:
    """The looks of a test.

    >>> Stopping((14, 17, 21), 100).images
    21
    """

    looks: tuple[int, ...]
    """Images per prompt at each look so far."""
    most: int
    """Images per prompt at the last look that was planned."""
    test: SequentialTest | None = None
    """How it is tested; None where it is judged by intervals that hold at every look."""
    fresh: int = 0
    """Images per prompt made after the last look, to confirm what it showed."""
    rule: Rule = "own"

    @property
    def images(self) -> int:
        """Per prompt."""
        return self.looks[-1] + self.fresh

    @property
    def own_test(self) -> SequentialTest | None:
        """How its own images alone stopped it; None where anything else did, or made more."""
        return self.test if self.rule == "own" and not self.fresh else None


class Shown(NamedTuple):
    """What one member of a family showed: a lean is |male - female|, or images that show it.

    >>> Shown(((14, 14), (17, 17)), 17, 17).least
    17
    """

    looks: tuple[tuple[int, int], ...]
    """(images that count, images made) at each look; those that added none are left out."""
    least: int
    """Smallest lean at the last look, whatever undetected images show."""
    largest: int
    fresh: tuple[int, int] | None = None
    """(least lean, images) of the fresh ones alone; None without."""

    def state(self, test: SequentialTest) -> State:
        """Where its own images have brought it."""
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
        """Against "within the bound"; 1 where it stopped for anything but being beyond it."""
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
    """Evidence of a family: FAIL by their shared false discovery rate, PASS each by itself.

    Stage-wise p-values are adjusted by Storey's method at 0.9 of the error level. Members that
    stopped beyond their limit and are not rejected may have had fresh images: exact p-values of
    these alone are adjusted by Benjamini-Hochberg at the other tenth. Where a number of images for
    the whole run ended it, one member's images ended others': the method of Benjamini and
    Yekutieli holds then, and what was cut off stays open.
    """
    level = tests[0].level if tests else 0.95
    p_values = np.array([one.p_value(test) for one, test in zip(shown, tests, strict=True)])
    if "cut" in rules:
        adjusted = statistics.benjamini_yekutieli(p_values)
    else:
        first = 1.0 - FIRST * (1.0 - level)
        adjusted = np.minimum(1.0, statistics.storey(p_values, first) / FIRST)
    beyond = np.minimum(adjusted, _confirmed(shown, tests))
    within = [
        1.0 - level if one.state(test) == "within" else 1.0
        for one, test in zip(shown, tests, strict=True)
    ]
    return [Evidence(float(b), w) for b, w in zip(beyond, within, strict=True)]


def _confirmed(shown: Sequence[Shown], tests: Sequence[SequentialTest]) -> np.ndarray:
    """Adjusted p-values of fresh images, on the scale of the whole error level; 1 without any."""
    found = np.ones(len(shown))
    places = [k for k, one in enumerate(shown) if one.fresh is not None]
    if places:
        each = [_fresh_p_value(shown[k], tests[k]) for k in places]
        found[places] = np.minimum(1.0, statistics.benjamini_hochberg(each) / CONFIRMED)
    return found


def _fresh_p_value(shown: Shown, test: SequentialTest) -> float:
    lean, images = shown.fresh or (0, 0)
    if not images:
        return 1.0
    if not test.folded:
        return float(statistics.share_p_value(lean, images, test.bound, "above"))
    male = (images + lean) // 2
    return float(statistics.prompt_bias_p_values([male], [images - male], test.bound)[0])
