"""Which images people look at: those that a detector is unsure of, with known probabilities.

Zrnic and Candes 2024 (active statistical inference): a label is worth most where the detector may
be wrong. ``tests/simulations/for_correction.py`` says how much is gained.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_t2i.metrics import inputs

EVENLY = 0.2
"""Part of the labels that is spread evenly over all images: a detector may be wrong and sure."""
ROUNDING = 1e-9


def choice_probabilities(doubt: npt.ArrayLike, count: int) -> inputs.Floats:
    """With which probability each image is drawn when ``count`` are.

    The variance of a sum that is weighted by 1 / p is least where p is proportional to what one
    does not know of an image (Neyman). A fifth of the draws is spread evenly over all.

    .. math:: p_i = count (0.8 d_i / sum d + 0.2 / N), cut at 1 and the rest spread alike

    Args:
        doubt: standard deviation of what people would say of each image, [n_images], at least 0.
        count: images to draw, from 1 to n_images.

    Returns:
        Probabilities in (0, 1] that sum to ``count``, [n_images].

    Raises:
        ValueError: doubt is negative, or count lies outside.

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
    """Draw images, each with its probability, always as many (Deville and Tille 1998, pivotal).

    Two images at a time settle between them which takes the other's probability, until each has
    0 or 1.

    Args:
        probabilities: in [0, 1], [n_images], with a whole sum.
        seed: of the draw.

    Returns:
        Places of those drawn, sorted.

    Raises:
        ValueError: a probability lies outside, or the sum is no whole number.

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
    """Settle one of two, which gets 0 or 1; returns which."""
    both = left[a] + left[b]
    if both <= ROUNDING:
        left[a] = 0.0
        return a
    settled = 0.0 if both < 1.0 else 1.0
    # The chance that b is settled keeps every probability as it was.
    chance = left[a] / both if both < 1.0 else (1.0 - left[a]) / max(2.0 - both, ROUNDING)
    place, other = (b, a) if rng.random() < chance else (a, b)
    left[place], left[other] = settled, both - settled
    return place
