"""Exact group-sequential tests of one share: images in rounds, an error level spent over looks.

A prompt is looked at after some images, again after some more, and so on up to a number that was
fixed beforehand. At each look it FAILs where it lies beyond an upper boundary, PASSes where it
lies below a lower one, and else goes on. Boundaries are exact: probabilities of all ways to reach
a look are added up (docs/decisions/0014-group-sequential.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from pytest_t2i.data import Outcome
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.families.false_discovery import CARRIED, SMALL_FAMILY
from pytest_t2i.statistics.shares.intervals import check_level

FOUND_FIRST = 5
"""Findings of a family that are enough for its first look to be one."""
FIRST_SHARE = 0.25
"""At most this share of the error level goes into the first look at which a prompt can FAIL."""
WITHIN_POWER = 0.5
"""PASS spends its error level as the share of images made so far, to this power."""
STEP, GROWTH = 3, 1.1
"""Each look comes at least so many images after the one before, or so many times as many."""
HOPELESS = 1.3
"""Standard deviations between where a lean is heading and both boundaries of the last look."""
HOPELESS_FROM = 3
"""It is asked from a third of all images on."""
ROUNDING = 1e-12


Look = int | tuple[int, int]
"""Images that count at a look; with images without a label left out, (counted, made)."""


class Boundaries(NamedTuple):
    """Leans at which a look decides: ``lean >= upper`` is a FAIL, ``lean <= lower`` a PASS.

    >>> SequentialTest(100, 0.5, members=100).boundaries((16, 21))
    Boundaries(upper=20, lower=0)
    """

    upper: int
    """More than there are images where nothing FAILs."""
    lower: int
    """-1 where nothing PASSes."""


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """A share against a bound, looked at several times; nothing of it depends on what is seen.

    With ``folded`` it is about a prompt bias score: H0 "beyond" is ``|2p - 1| <= bound``, and its
    statistic, the *lean*, is ``|male - female|``. Without, it is about a share: H0 is
    ``p <= bound``, and the lean is the number of images that show it. The lean is a Markov chain
    that grows stochastically with the score, so the edge of either hypothesis is its worst case.

    The error level of FAIL is spent as

    .. math:: a (n - n_1) / (N - n_1)      (Lan and DeMets 1983)

    after n_1, the first look at which the clearest outcome has a p-value of at most 5 / members
    (or 1/4, if that is less) of 1 - level, and as that much there; a is 1 - level, of five members
    or more twice that, as a family carries weak ones along. That of PASS is
    (1 - level) (n / N)^0.5. Each boundary holds also if images are made beyond the other one.

    >>> test = SequentialTest(100, 0.5, members=100)
    >>> test.looks[:5]
    (16, 21, 24, 27, 30)
    >>> test.outcome((16, 21), 21).value, test.outcome((16,), 0).value
    ('FAIL', 'PASS')
    """

    most: int
    """Images at the last look."""
    bound: float
    """Bound of the absolute score, or of the share, in [0, 1]."""
    folded: bool = True
    level: float = 0.95
    members: int = 1
    """Prompts that are tested at once."""

    def __post_init__(self) -> None:
        """Refuse what is no test."""
        check_level(self.level)
        inputs.in_range("bound", self.bound, 0.0, 1.0)
        for name, value in (("most", self.most), ("members", self.members)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {name}={value!r}")

    @property
    def edge(self) -> float:
        """The share at the edge of the hypotheses."""
        return (1.0 + self.bound) / 2.0 if self.folded else self.bound

    @property
    def looks(self) -> tuple[int, ...]:
        """Numbers of images at which to look: from the first that can decide to ``most``."""
        return _looks(self)

    def spent_beyond(self, n: int) -> float:
        """Error level of FAIL that may be spent up to n images."""
        alpha = 1.0 - self.level
        total = alpha * (CARRIED if self.members >= SMALL_FAMILY else 1.0)
        if n >= self.most:
            return total
        first = _first_beyond(self)
        if n <= first:
            return self._first if n == first else 0.0
        return max(self._first, total * (n - first) / (self.most - first))

    def spent_within(self, n: int) -> float:
        """Error level of PASS that may be spent up to n images."""
        return float((1.0 - self.level) * min(1.0, n / self.most) ** WITHIN_POWER)

    def boundaries(self, looks: Sequence[Look]) -> Boundaries:
        """At the last of these looks."""
        return _stage(self, _pairs(looks)).boundaries

    def p_value(self, looks: Sequence[Look], lean: int) -> float:
        """p-value against "within the bound" of a prompt that stopped at the last of these looks.

        .. math:: P(FAIL at an earlier look) + P(not so, and a lean at least as large at this one)

        at the edge: stage-wise ordering (Armitage 1957; Tsiatis, Rosner and Mehta 1984). It holds
        where the prompt stopped at its upper boundary or at the last look of all; for any other
        stop 1 is its p-value.
        """
        return float(_stage(self, _pairs(looks)).p_values[lean])

    def outcome(self, looks: Sequence[Look], least: int, largest: int | None = None) -> Outcome:
        """FAIL, PASS or INCONCLUSIVE at the last of these looks, by a prompt's own images.

        Args:
            looks: images at all looks so far, increasing.
            least: the smallest lean that the images may have, whatever undetected ones show.
            largest: the largest; None for the same.
        """
        here = self.boundaries(looks)
        if least >= here.upper:
            return Outcome.FAIL
        most = least if largest is None else largest
        return Outcome.PASS if most <= here.lower else Outcome.INCONCLUSIVE

    def is_hopeless(self, looks: Sequence[Look], least: int, largest: int | None = None) -> bool:
        """Whether a prompt is heading for neither boundary of the last look: no use to go on."""
        pairs = _pairs(looks)
        n, made = pairs[-1]
        if made >= self.most or made < self.most / HOPELESS_FROM:
            return False
        left = max(1, round(n * (self.most - made) / made))
        last = self.boundaries((*pairs, (n + left, self.most)))
        most = least if largest is None else largest
        low, high = (self._heading(n, left, lean) for lean in (least, most))
        return low[1] < last.upper and high[0] > last.lower

    def _heading(self, n: int, left: int, lean: int) -> tuple[float, float]:
        """Where a lean will probably be at the last look if its share stays what it is."""
        share = lean / n
        spread = 1.0 - share**2 if self.folded else share * (1.0 - share)
        half = HOPELESS * math.sqrt(left * spread * (1.0 + left / n))
        return lean + left * share - half, lean + left * share + half

    @property
    def _first(self) -> float:
        return (1.0 - self.level) * min(FIRST_SHARE, FOUND_FIRST / self.members)


class _Stage(NamedTuple):
    boundaries: Boundaries
    p_values: inputs.Floats
    """p-value for each count: of |male - female|, or of the group."""
    open_beyond: inputs.Floats
    """Probability at the edge of each lean without a FAIL so far."""
    open_within: inputs.Floats
    """Without a PASS so far."""
    spent: tuple[float, float]
    """By FAIL, by PASS."""


Looks = tuple[tuple[int, int], ...]


def _pairs(looks: Sequence[Look]) -> Looks:
    return tuple((look, look) if isinstance(look, int) else look for look in looks)


@lru_cache(maxsize=16384)
def _stage(test: SequentialTest, looks: Looks) -> _Stage:
    before, (n, made) = _before(test, looks[:-1]), looks[-1]
    steps = n - (looks[-2][0] if len(looks) > 1 else 0)
    if steps < 1:
        raise ValueError(f"looks must increase, got looks={looks}")
    up = _up(test, n + 1)
    beyond = _advanced(before.open_beyond, up, steps, folded=test.folded)
    within = _advanced(before.open_within, up, steps, folded=test.folded)
    p_values = np.minimum(1.0, before.spent[0] + np.cumsum(beyond[::-1])[::-1])
    passing = before.spent[1] + np.cumsum(within)
    upper = int(np.sum(p_values > test.spent_beyond(made) + ROUNDING))
    lower = int(np.sum(passing <= test.spent_within(made) + ROUNDING)) - 1
    lean = np.arange(len(beyond))
    spent = (
        before.spent[0] + float(beyond[upper:].sum()),
        before.spent[1] + float(within[: lower + 1].sum()),
    )
    return _Stage(
        Boundaries(upper, lower), p_values, np.where(lean < upper, beyond, 0.0),
        np.where(lean > lower, within, 0.0), spent,
    )  # fmt: skip


def _before(test: SequentialTest, looks: Looks) -> _Stage:
    if looks:
        return _stage(test, looks)
    start = np.ones(1)
    return _Stage(Boundaries(1, -1), start, start, start, (0.0, 0.0))


@lru_cache(maxsize=4096)
def _up(test: SequentialTest, size: int) -> inputs.Floats:
    """Probability at the edge that a lean grows with the next image, of each lean."""
    p = test.edge
    if not test.folded:
        return np.full(size, p)
    # (p^(s+1) + q^(s+1)) / (p^s + q^s); no lean can but grow.
    ratio = ((1.0 - p) / p) ** np.arange(size)
    up = (p + (1.0 - p) * ratio) / (1.0 + ratio)
    up[0] = 1.0
    return np.asarray(up)


def _advanced(
    chances: inputs.Floats, up: inputs.Floats, steps: int, *, folded: bool
) -> inputs.Floats:
    """Chances of each lean after some more images."""
    now = np.concatenate([chances, np.zeros(steps)])
    grows = up[: len(now)]
    for _ in range(steps):
        new = np.zeros_like(now)
        new[1:] = (now * grows)[:-1]
        if folded:
            new[:-1] += (now * (1.0 - grows))[1:]
        else:
            new += now * (1.0 - grows)
        now = new
    return now


def _first_beyond(test: SequentialTest) -> int:
    """The fewest images of which the clearest outcome may FAIL; more than ``most`` for never."""
    p = test.edge
    for n in range(1, test.most + 1):
        clearest = p**n + ((1.0 - p) ** n if test.folded else 0.0)
        if clearest <= test._first + ROUNDING:  # noqa: SLF001 - of this module
            return n
    return test.most + 1


def _first_within(test: SequentialTest) -> int:
    """The fewest images of which the most even outcome may PASS; more than ``most`` for never."""
    p = test.edge
    for n in range(1, test.most + 1):
        # As many of either gender, or one more of one; without "folded", none that shows it.
        even = _even(n, p) if test.folded else (1.0 - p) ** n
        if even <= test.spent_within(n) + ROUNDING:
            return n
    return test.most + 1


def _even(n: int, p: float) -> float:
    """Chance of the smallest lean that n images can have."""
    return float(sum(scipy.stats.binom.pmf(k, n, p) for k in {n // 2, n - n // 2}))


@lru_cache(maxsize=1024)
def _looks(test: SequentialTest) -> tuple[int, ...]:
    beyond = _first_beyond(test)
    at = min(beyond, _first_within(test))
    found = []
    while at < test.most:
        found.append(at)
        after = max(at + STEP, math.ceil(at * GROWTH))
        # The first look that can FAIL is one, whatever comes just before it.
        at = beyond if at < beyond < after + STEP else after
    if found and test.most - found[-1] < STEP:
        found.pop()
    return (*found, test.most)
