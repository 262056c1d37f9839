"""Exact distribution of the paper's score when all prompts have the same bias.

Among all distributions of bias over prompts with one mean, the same ``|2p - 1|`` throughout has the
smallest expected score (Jensen): it is the least favourable distribution for the null hypothesis
"the model bias score is at least the bound". Counts are summed on a lattice by fast Fourier
transform, without a normal approximation, for one prompt or ten thousand.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.model.bounding import rarer_chances
from pytest_t2i.statistics.model.deconvolution import Whole

RIDGE = 0.01
"""Added slope that makes slopes of expected scores strictly increasing, and so prompts identical
where all slopes are 1."""
REACH = 8.0
"""Standard deviations on either side that the lattice holds; the probability beyond is below
1e-14."""
FINER = 16.0
"""Lattice points per standard deviation of a prompt, where prompts differ in their number of
images; splitting scores between two points adds less than a thousandth to the variance."""
ROUNDING = 1e-9
"""Equal sums of scores may differ in the last place."""
BIASES: inputs.Floats = np.sin(np.linspace(0.0, np.pi / 2.0, 401))
"""|2p - 1| at which slopes of expected scores are computed."""


class Sizes(NamedTuple):
    """The numbers of prompts with each number of clear images."""

    images: tuple[int, ...]
    """Different numbers of clear images, increasing."""
    prompts: tuple[int, ...]
    """Number of prompts with each number of clear images."""

    @property
    def total(self) -> int:
        """Number of prompts."""
        return sum(self.prompts)


class Tails(NamedTuple):
    """The probabilities of a sum of scores at most and at least the observed one."""

    below: float
    above: float


def sizes_of(clear: Whole) -> Sizes:
    """Group prompts by their number of clear images.

    >>> sizes_of(np.array([20, 4, 20]))
    Sizes(images=(4, 20), prompts=(1, 2))
    """
    images, prompts = np.unique(clear, return_counts=True)
    return Sizes(tuple(images.tolist()), tuple(prompts.tolist()))


def alike(sizes: Sizes, mean: float) -> tuple[float, ...]:
    """Return the same |2p - 1| for each size of prompt.

    >>> alike(Sizes((4, 20), (1, 2)), 0.3)
    (0.3, 0.3)
    """
    return (mean,) * len(sizes.images)


def least_shown(sizes: Sizes, mean: float) -> tuple[float, ...]:
    """Return the |2p - 1| of each size of prompt, of a given mean and least expected score.

    With equal numbers of images, all prompts have the same bias. Otherwise the slope of the
    expected score is the same for every size (Lagrange), so that prompts of few images have the
    larger bias.

    Args:
        sizes: numbers of prompts by their number of images.
        mean: mean of |2p - 1| over the prompts, in [0, 1].

    Returns:
        A value per size, in [0, 1].

    >>> least_shown(Sizes((20,), (5,)), 0.3)
    (0.3,)
    >>> few, many = least_shown(Sizes((2, 40), (5, 5)), 0.5)
    >>> few > 0.6, round((few + many) / 2, 6)
    (True, 0.5)
    """
    if len(sizes.images) == 1:
        return alike(sizes, mean)
    slopes = [_slopes(n) for n in sizes.images]

    def spread(slope: float) -> inputs.Floats:
        return np.array([np.interp(slope, entry, BIASES) for entry in slopes])

    def short(slope: float) -> float:
        return float(np.average(spread(slope), weights=sizes.prompts)) - mean

    top = max(float(entry[-1]) for entry in slopes)
    result = float(scipy.optimize.brentq(short, -1.0, top + 1.0, xtol=1e-12))
    return tuple(spread(result).tolist())


TILTS = (1.0, 0.5, 0.0, -0.5, -1.0)
"""Places between prompts alike (0) and those of the least expected score (1), and beyond."""


def least_favourable(sizes: Sizes, mean: float) -> list[tuple[float, ...]]:
    """Return the |2p - 1| of each size of prompt that a small score is tried against.

    With equal numbers of images, prompts alike are the least favourable ones (Jensen). Otherwise
    those of the least expected score need not be: prompts of few images scatter more where they are
    less biased, and a limit at the truth passed in 9 to 19 % of runs instead of 5 %. Several
    distributions of this mean are tried, and the largest p-value counts.

    >>> least_favourable(Sizes((20,), (5,)), 0.3)
    [(0.3,)]
    >>> len(least_favourable(Sizes((2, 40), (5, 5)), 0.5))
    5
    """
    if len(sizes.images) == 1:
        return [alike(sizes, mean)]
    shown, weights = np.array(least_shown(sizes, mean)), np.array(sizes.prompts)
    found = []
    for tilt in TILTS:
        bias = np.clip(mean + tilt * (shown - mean), 0.0, 1.0)
        # What clipping took away is given to the sizes that have room.
        short = mean - float(np.average(bias, weights=weights))
        room = 1.0 - bias if short > 0 else bias
        total = float(np.average(room, weights=weights))
        bias = bias + short * room / total if total else bias
        found.append(tuple(np.clip(bias, 0.0, 1.0).tolist()))
    return found


@lru_cache(maxsize=4096)
def score_tails(sizes: Sizes, bias: tuple[float, ...], score: float) -> Tails:
    """Return the probabilities that the paper's score is at most, and at least, the observed one.

    Args:
        sizes: numbers of prompts by their number of images.
        bias: true |2p - 1| of the prompts of each size.
        score: mean of |n_m - n_f| / (n_m + n_f) over the prompts.

    Returns:
        Both tails, in [0, 1].

    >>> round(score_tails(Sizes((20,), (1,)), (0.0,), 1.0).above, 10)
    1.9073e-06
    """
    unit = _unit(sizes)
    laws = [_law(n, t, unit) for n, t in zip(sizes.images, bias, strict=True)]
    kinds = list(zip(sizes.prompts, laws, strict=True))
    middle = sum(k * law.middle for k, law in kinds)
    deviation = np.sqrt(sum(k * law.variance for k, law in kinds))
    length = scipy.fft.next_fast_len(int(2 * REACH * deviation) + 64, real=True)
    transform = np.ones(length // 2 + 1, dtype=np.complex128)
    for k, law in kinds:
        wrapped = np.bincount(law.places % length, weights=law.chances, minlength=length)
        transform *= scipy.fft.rfft(wrapped) ** k
    chances = np.maximum(scipy.fft.irfft(transform, n=length), 0.0)
    first = round(middle) - length // 2
    shortfall = (1.0 - score) * sizes.total / unit
    places = first + np.arange(length)
    chances = np.roll(chances, -(first % length))
    # Where prompts differ in their number of images, the observed sum lies between two lattice
    # points: the farther one counts, which keeps both tails conservative.
    at_least = places >= np.floor(shortfall + ROUNDING)
    at_most = places <= np.ceil(shortfall - ROUNDING)
    return Tails(min(1.0, float(chances[at_least].sum())), min(1.0, float(chances[at_most].sum())))


class _Law(NamedTuple):
    places: Whole
    chances: inputs.Floats
    middle: float
    variance: float


def _unit(sizes: Sizes) -> float:
    if len(sizes.images) == 1:
        return 2.0 / sizes.images[0]
    variance = np.average(1.0 / np.array(sizes.images), weights=sizes.prompts)
    return float(np.sqrt(variance) / FINER)


@lru_cache(maxsize=4096)
def _law(n: int, bias: float, unit: float) -> _Law:
    """Return the distribution of 1 - score of one prompt on the lattice.

    A value between two points is split between them so that its mean is kept.
    """
    chances = rarer_chances(n, np.array([bias]))[0]
    exact = 2.0 * np.arange(n // 2 + 1) / n / unit
    below = np.floor(exact + ROUNDING).astype(np.int64)
    share = np.maximum(exact - below, 0.0)
    places = np.concatenate([below, below + 1])
    split = np.concatenate([chances * (1.0 - share), chances * share])
    middle = float(split @ places)
    return _Law(places, split, middle, float(split @ (places - middle) ** 2))


@lru_cache(maxsize=1024)
def _slopes(n: int) -> inputs.Floats:
    shown = rarer_chances(n, BIASES) @ (1.0 - 2.0 * np.arange(n // 2 + 1) / n)
    slopes = np.gradient(shown, BIASES) + RIDGE * BIASES
    return np.asarray(np.maximum.accumulate(slopes + 1e-12 * np.arange(len(BIASES))))
