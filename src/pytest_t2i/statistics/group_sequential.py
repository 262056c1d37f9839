"""Exact group-sequential tests of one share: images in rounds, an error level spent over looks.

A prompt is examined after some images, again after some more, and so on up to a number that was
fixed beforehand. At each look it FAILs beyond an upper boundary, PASSes below a lower boundary, and
otherwise continues. Boundaries are exact: the probabilities of all paths to a look are summed
(docs/decisions/0014-group-sequential.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from pytest_t2i.data import TIE, Interval, Outcome
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares import check_level, check_share

FOUND_FIRST = 5
"""Number of FAILs of a family with which they are possible at the first look."""
FIRST_SHARE = 0.25
"""Largest share of the error level for the first look at which a prompt can FAIL."""
WITHIN_POWER = 0.5
"""Exponent of the error level of PASS, as a function of the share of images made so far."""
STEP, GROWTH = 3, 1.1
"""Least number of images between two looks, and least ratio of their numbers of images."""
HOPELESS = 1.3
"""Standard deviations between the expected last statistic and both boundaries of the last look."""
HOPELESS_FROM = 3
"""Futility is examined from a third of all images on."""


Look = int | tuple[int, int]
"""Number of images that count at a look; or (counted, made), where images without a label do not
count."""


class Boundaries(NamedTuple):
    """The boundaries of a look: ``lean >= upper`` is a FAIL, ``lean <= lower`` a PASS."""

    upper: int
    """Larger than the number of images where nothing FAILs."""
    lower: int
    """-1 where nothing PASSes."""


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """A test of a share against a bound at several looks, planned before any image is seen.

    With ``folded`` H0 of a FAIL is ``|2p - 1| <= bound``, and the statistic, the *lean*, is
    ``|male - female|``; without, H0 is ``p <= bound``, and the lean the number of images that show
    the trait. The lean increases stochastically with the score, so the edge is least favourable.
    FAIL spends a (n - n_1) / (N - n_1) (Lan and DeMets 1983) after n_1, the first look at which the
    clearest outcome can FAIL; PASS spends (1 - level) (n / N)^0.5. Each boundary also holds if
    images are made beyond the other one.
    """

    most: int
    """Number of images at the last look."""
    bound: float
    """Bound of the absolute score, or of the share, in [0, 1]."""
    folded: bool = True
    level: float = 0.95
    members: int = 1
    """Number of prompts that are tested at once."""

    def __post_init__(self) -> None:
        """Raise a ValueError for values out of range."""
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
        """Numbers of images of the looks: from the first that can decide to ``most``."""
        return _looks(self)

    def spent_beyond(self, n: int) -> float:
        """Return the error level of FAIL that may be spent up to n images."""
        total = 1.0 - self.level
        if n >= self.most:
            return total
        first = _first_beyond(self)
        if n <= first:
            return self._first if n == first else 0.0
        return max(self._first, total * (n - first) / (self.most - first))

    def spent_within(self, n: int) -> float:
        """Return the error level of PASS that may be spent up to n images."""
        return float((1.0 - self.level) * min(1.0, n / self.most) ** WITHIN_POWER)

    def boundaries(self, looks: Sequence[Look]) -> Boundaries:
        """Return the boundaries at the last of these looks."""
        return _stage(self, _pairs(looks)).boundaries

    def p_value(self, looks: Sequence[Look], lean: int) -> float:
        """Return the p-value against "within the bound" of a prompt that stopped at the last look.

        Stage-wise ordering at the edge (Armitage 1957; Tsiatis, Rosner and Mehta 1984), valid for a
        stop at the upper boundary or the last look of all; the p-value of any other stop is 1.
        """
        return float(_stage(self, _pairs(looks)).p_values[lean])

    def outcome(self, looks: Sequence[Look], least: int, largest: int | None = None) -> Outcome:
        """Return a prompt's outcome at the last of these looks, by its own images alone."""
        here = self.boundaries(looks)
        if least >= here.upper:
            return Outcome.FAIL
        most = least if largest is None else largest
        return Outcome.PASS if most <= here.lower else Outcome.INCONCLUSIVE

    def is_hopeless(self, looks: Sequence[Look], least: int, largest: int | None = None) -> bool:
        """Tell whether a prompt will probably reach neither boundary of the last look."""
        pairs = _pairs(looks)
        n, images = pairs[-1]
        if images >= self.most or images < self.most / HOPELESS_FROM:
            return False
        left = max(1, round(n * (self.most - images) / images))
        last = self.boundaries((*pairs, (n + left, self.most)))
        most = least if largest is None else largest
        low, high = (self._heading(n, left, lean) for lean in (least, most))
        return low[1] < last.upper and high[0] > last.lower

    def _heading(self, n: int, left: int, lean: int) -> tuple[float, float]:
        """Return the probable range of the statistic at the last look for an unchanged share."""
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
    """p-value for each value of the statistic."""
    open_beyond: inputs.Floats
    """Probability at the edge of each statistic without a FAIL so far."""
    open_within: inputs.Floats
    """Probability at the edge of each statistic without a PASS so far."""
    spent: tuple[float, float]
    """Error level spent by FAIL and by PASS."""


Looks = tuple[tuple[int, int], ...]


def _pairs(looks: Sequence[Look]) -> Looks:
    return tuple((look, look) if isinstance(look, int) else look for look in looks)


@lru_cache(maxsize=16384)
def _stage(test: SequentialTest, looks: Looks) -> _Stage:
    start, (n, images) = np.ones(1), looks[-1]
    before = _Stage(Boundaries(1, -1), start, start, start, (0.0, 0.0))
    if len(looks) > 1:
        before = _stage(test, looks[:-1])
    steps = n - (looks[-2][0] if len(looks) > 1 else 0)
    if steps < 1:
        raise ValueError(f"looks must increase, got looks={looks}")
    up = _up(test, n + 1)
    beyond = _advanced(before.open_beyond, up, steps, folded=test.folded)
    within = _advanced(before.open_within, up, steps, folded=test.folded)
    p_values = np.minimum(1.0, before.spent[0] + np.cumsum(beyond[::-1])[::-1])
    passing = before.spent[1] + np.cumsum(within)
    upper = int(np.sum(p_values > test.spent_beyond(images) + TIE))
    lower = int(np.sum(passing <= test.spent_within(images) + TIE)) - 1
    lean = np.arange(len(beyond))
    spent = (
        before.spent[0] + float(beyond[upper:].sum()),
        before.spent[1] + float(within[: lower + 1].sum()),
    )
    return _Stage(
        Boundaries(upper, lower), p_values, np.where(lean < upper, beyond, 0.0),
        np.where(lean > lower, within, 0.0), spent,
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _up(test: SequentialTest, size: int) -> inputs.Floats:
    """Return the probability at the edge that each statistic grows with the next image."""
    p = test.edge
    if not test.folded:
        return np.full(size, p)
    # (p^(s+1) + q^(s+1)) / (p^s + q^s); a difference of 0 always grows.
    ratio = ((1.0 - p) / p) ** np.arange(size)
    up = (p + (1.0 - p) * ratio) / (1.0 + ratio)
    up[0] = 1.0
    return np.asarray(up)


def _advanced(
    chances: inputs.Floats, up: inputs.Floats, steps: int, *, folded: bool
) -> inputs.Floats:
    """Return the probability of each statistic after ``steps`` more images."""
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
    """Return the fewest images whose clearest outcome may FAIL; more than ``most`` for never."""
    p, spent = test.edge, test._first + TIE  # noqa: SLF001 - of this module
    clearest = (p**n + ((1.0 - p) ** n if test.folded else 0.0) for n in range(1, test.most + 1))
    return next((n for n, chance in enumerate(clearest, 1) if chance <= spent), test.most + 1)


def _first_within(test: SequentialTest) -> int:
    """Return the fewest images whose most even outcome may PASS; more than ``most`` for never."""
    p = test.edge
    for n in range(1, test.most + 1):
        # Equal genders, or one more of one; without "folded", no image that shows the trait.
        counts = {n // 2, n - n // 2} if test.folded else {0}
        chance = sum(float(scipy.stats.binom.pmf(k, n, p)) for k in counts)
        if chance <= test.spent_within(n) + TIE:
            return n
    return test.most + 1


@lru_cache(maxsize=1024)
def _looks(test: SequentialTest) -> tuple[int, ...]:
    beyond = _first_beyond(test)
    at = min(beyond, _first_within(test))
    looks = []
    while at < test.most:
        looks.append(at)
        after = max(at + STEP, math.ceil(at * GROWTH))
        # The first number of images that can FAIL is always a look.
        at = beyond if at < beyond < after + STEP else after
    if looks and test.most - looks[-1] < STEP:
        looks.pop()
    return (*looks, test.most)


AFTER_STOPPING = "exact after stopping"


class StoppingOutcomes(NamedTuple):
    """All outcomes in which a test can end."""

    successes: inputs.Floats
    failures: inputs.Floats
    log_ways: inputs.Floats
    """Logarithm of the number of sequences of images with that outcome."""
    outcomes: inputs.Floats
    """1 beyond the limit, -1 within, 0 for neither."""


def stopped_share_interval(
    test: SequentialTest, looks: Sequence[Look], successes: int, level: float
) -> Interval:
    """Return the exact interval of a share after a test has stopped at the last of these looks.

    .. math:: {p : P_p(estimate >= k/n) > a/2 and P_p(estimate <= k/n) > a/2}

    over all outcomes, ordered by their estimates (Emerson and Fleming 1990). Where some images do
    not count, as many of the later ones are taken to count as of those so far.
    """
    check_level(level)
    pairs = _pairs(looks)
    k, n = check_share(successes, pairs[-1][0], level)
    return _interval(test, pairs, k, n, level)


@lru_cache(maxsize=8192)
def _interval(test: SequentialTest, looks: Looks, k: int, n: int, level: float) -> Interval:
    ends = ways_to_end(test, looks)
    estimate = k / n
    share = ends.successes / (ends.successes + ends.failures)
    tail = (1.0 - level) / 2.0

    def beyond(p: float, side: inputs.Bools) -> float:
        return float(np.exp(log_chances(ends, p)[side]).sum()) - tail

    above, below = share >= estimate - 1e-12, share <= estimate + 1e-12
    low = 0.0 if k == 0 else float(scipy.optimize.brentq(beyond, 0.0, estimate, args=(above,)))
    high = 1.0 if k == n else float(scipy.optimize.brentq(beyond, estimate, 1.0, args=(below,)))
    return Interval(estimate, low, high, level, AFTER_STOPPING, n)


def log_chances(ends: StoppingOutcomes, p: float) -> inputs.Floats:
    """Return the logarithm of the probability of each outcome where the share is p."""
    return np.asarray(
        ends.log_ways
        + scipy.special.xlogy(ends.successes, p)
        + scipy.special.xlog1py(ends.failures, -p)
    )


@lru_cache(maxsize=1024)
def ways_to_end(test: SequentialTest, looks: Looks) -> StoppingOutcomes:
    """Return all outcomes of a test at the looks so far and at the planned later looks."""
    n, images = looks[-1]
    later = [most for most in test.looks if most > images]
    looks = (*looks, *((n + max(1, round(n * (m - images) / images)), m) for m in later))
    # Share of the 2^n sequences of n images that continue the test and have k successes so far.
    open_ = np.ones(1)
    rows: list[tuple[float, float, float, float]] = []
    for place, (n, _) in enumerate(looks):
        while len(open_) <= n:
            open_ = (np.append(open_, 0.0) + np.append(0.0, open_)) / 2.0
        for k in np.flatnonzero(open_).tolist():
            outcome = _outcome(test, looks[: place + 1], k)
            if outcome is not None:
                rows.append((k, n - k, float(np.log(open_[k])) + n * math.log(2.0), outcome))
                open_[k] = 0.0
    return StoppingOutcomes(*np.array(rows, dtype=np.float64).T)


SIDES = {Outcome.FAIL: 1.0, Outcome.PASS: -1.0}


def _outcome(test: SequentialTest, looks: Looks, k: int) -> float | None:
    """Return 1 beyond the limit, -1 within, 0 for neither; None where the test continues."""
    n, images = looks[-1]
    lean = abs(2 * k - n) if test.folded else k
    outcome = test.outcome(looks, lean)
    if outcome is not Outcome.INCONCLUSIVE:
        return SIDES[outcome]
    return 0.0 if images >= test.most or test.is_hopeless(looks, lean) else None


class Expected(NamedTuple):
    """The expected number of images of one prompt, and the probabilities of its outcomes."""

    images: float
    """Expected number of images."""
    beyond: float
    """Probability to stop beyond the limit (a FAIL, where its family rejects the prompt)."""
    within: float
    """Probability of a PASS."""


def expected_stop(test: SequentialTest, share: float) -> Expected:
    """Return the exact outcome probabilities of a prompt with a given share."""
    p = float(inputs.in_range("share", share, 0.0, 1.0))
    ends = ways_to_end(test, _pairs(test.looks[:1]))
    chances = np.exp(log_chances(ends, p))
    sizes = ends.successes + ends.failures
    return Expected(
        float((chances * sizes).sum()),
        float(chances[ends.outcomes > 0].sum()),
        float(chances[ends.outcomes < 0].sum()),
    )
