"""Choice of the images that people label: images with doubtful labels, by known probabilities.

A label is worth most where the detector may be wrong (active statistical inference, Zrnic and
Candes 2024). ``tests/simulations/for_correction.py`` measures the gain.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_t2i.metrics import inputs

EVENLY = 0.2
"""Share of the labels that is spread evenly over all images, as a detector may be wrong and
certain."""
ROUNDING = 1e-9


def choice_probabilities(doubt: npt.ArrayLike, count: int) -> inputs.Floats:
    """Return the inclusion probability of each image when ``count`` images are drawn.

    The variance of a sum weighted by 1 / p is least where p is proportional to the standard
    deviation of what is unknown (Neyman allocation). A fifth of the draws is spread evenly over all
    images.

    .. math:: p_i = count (0.8 d_i / sum d + 0.2 / N), cut at 1 and the rest spread alike

    Args:
        doubt: standard deviation of the label that people would give to each image, [n_images], at
            least 0.
        count: number of images to draw, from 1 to n_images.

    Returns:
        Probabilities in (0, 1] that sum to ``count``, [n_images].

    Raises:
        ValueError: a doubt is negative, or count lies outside 1 to n_images.

    >>> choice_probabilities([1.0, 0.0, 0.0, 1.0], 2)
    array([0.9, 0.1, 0.1, 0.9])
    """
    spread = inputs.counts("doubt", doubt)
    inputs.one_dimensional(doubt=spread)
    if not 1 <= count <= len(spread):
        raise ValueError(f"count must lie between 1 and {len(spread)}, got count={count}")
    even = np.full(len(spread), 1.0 / len(spread))
    share = (1.0 - EVENLY) * spread / spread.sum() + EVENLY * even if spread.any() else even
    sure = np.zeros(len(spread), dtype=bool)
    while True:
        left = count - int(sure.sum())
        chances = np.where(sure, 1.0, share * left / max(share[~sure].sum(), ROUNDING))
        beyond = ~sure & (chances >= 1.0 - ROUNDING)
        if not beyond.any():
            return np.asarray(chances, dtype=np.float64)
        sure |= beyond


def drawn(probabilities: npt.ArrayLike, seed: int) -> npt.NDArray[np.int64]:
    """Draw a fixed number of images with given inclusion probabilities (pivotal method).

    Two images at a time compete, and one of them gets probability 0 or 1, until every image has 0
    or 1 (Deville and Tille 1998).

    Args:
        probabilities: inclusion probabilities in [0, 1], [n_images], with a whole sum.
        seed: seed of the draw.

    Returns:
        Indices of the drawn images, sorted.

    Raises:
        ValueError: a probability lies outside [0, 1], or the sum is no whole number.

    >>> drawn([1.0, 0.0, 0.5, 0.5], seed=0)
    array([0, 2])
    """
    left = np.array(inputs.in_range("probabilities", probabilities, 0.0, 1.0))
    if abs(left.sum() - round(left.sum())) > ROUNDING * max(1, len(left)):
        raise ValueError(f"probabilities must sum to a whole number, got {left.sum()}")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(left))
    first = order[0]
    for second in order[1:]:
        stays = _duel(left, first, second, rng)
        first = second if stays == first else first
    return np.flatnonzero(left > 0.5)  # noqa: PLR2004 - what is left of rounding


def _duel(left: inputs.Floats, a: int, b: int, rng: np.random.Generator) -> int:
    """Set one of two probabilities to 0 or 1, the other to the rest; return the settled index."""
    both = left[a] + left[b]
    if both <= ROUNDING:
        left[a] = 0.0
        return a
    settled = 0.0 if both < 1.0 else 1.0
    # This chance of settling b keeps both inclusion probabilities.
    chance = left[a] / both if both < 1.0 else (1.0 - left[a]) / max(2.0 - both, ROUNDING)
    place, other = (b, a) if rng.random() < chance else (a, b)
    left[place], left[other] = settled, both - settled
    return place
