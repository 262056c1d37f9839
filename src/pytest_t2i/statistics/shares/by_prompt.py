"""A share over prompts whose images need not be independent: each prompt counts once."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import check_level, clopper_pearson

HALVINGS = 60
"""Steps of the bisection for an end."""


def share_by_prompt_interval(
    successes: npt.ArrayLike, n: npt.ArrayLike, *, level: float
) -> Interval:
    """Mean over prompts of a share, whatever ties the images of one prompt together.

    A service may rewrite a prompt once and draw all of its images from that text: then twenty
    images say no more than one. So a prompt is the unit. With one image of each, the interval is
    Clopper and Pearson's. With more, each prompt has a share in [0, 1] that is taken as one value,
    and the ends are those means that Chernoff's bound does not exclude:

    .. math:: m KL(x, mu) <= log(2 / a),  KL(x, mu) = x log(x / mu) + (1-x) log((1-x) / (1-mu))
       (Hoeffding 1963, Theorem 1, whose values are bounded and need not be alike)

    with x the mean of m shares and a = 1 - level. It holds for any number of prompts, for prompts
    that differ, and for any dependence within one; at 0 and at 1 it is as wide as Clopper and
    Pearson's.

    Args:
        successes: images of each prompt that show it, [n_prompts].
        n: images of each prompt, [n_prompts]; prompts without any are left out.
        level: confidence level in (0, 1).

    Returns:
        Interval of the mean over prompts, in [0, 1]; its n is the number of prompts.

    Raises:
        ValueError: no prompt has an image, successes exceed n, a count is no whole number, shapes
            differ, or the level is out of range.

    >>> print(share_by_prompt_interval([1, 0, 0, 0, 0], [1] * 5, level=0.95))
    0.200 [0.005, 0.716]
    >>> print(share_by_prompt_interval([20, 0, 0, 0, 0], [20] * 5, level=0.95))
    0.200 [0.002, 0.773]
    """
    k, size = inputs.count_vectors(successes=successes, n=n)
    check_level(level)
    if np.any(k > size):
        worst = int(np.argmax(k - size))
        raise ValueError(
            f"successes must not exceed n, got successes[{worst}]={k[worst]}, n={size[worst]}"
        )
    k, size = k[size > 0], size[size > 0]
    if not k.size:
        raise ValueError(f"n must hold at least one image, got n={n!r}")
    if size.max() == 1:
        return clopper_pearson(int(k.sum()), k.size, level)
    share = float(np.mean(k / size))
    reach = math.log(2.0 / (1.0 - level)) / k.size
    low, high = (_end(share, reach, end) for end in (0.0, 1.0))
    return Interval(share, low, high, level, "chernoff by prompt", int(k.size))


def _end(share: float, reach: float, furthest: float) -> float:
    """The mean furthest towards 0 or 1 whose divergence is within reach."""
    if share == furthest:
        return furthest
    inner, outer = share, furthest
    for _ in range(HALVINGS):
        middle = (inner + outer) / 2.0
        inner, outer = (middle, outer) if _divergence(share, middle) <= reach else (inner, middle)
    return outer


def _divergence(share: float, mean: float) -> float:
    """Kullback and Leibler's, of a share from a mean strictly between 0 and 1."""
    if mean in (0.0, 1.0):
        return math.inf
    parts = ((share, mean), (1.0 - share, 1.0 - mean))
    return sum(x * math.log(x / mu) for x, mu in parts if x)
