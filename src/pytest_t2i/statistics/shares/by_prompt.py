"""Interval of a mean share over prompts whose images may depend on each other."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import check_level, clopper_pearson

HALVINGS = 60
"""Number of bisection steps for an end."""


def share_by_prompt_interval(
    successes: npt.ArrayLike, n: npt.ArrayLike, *, level: float
) -> Interval:
    """Return an interval of the mean share over prompts that allows any dependence within a prompt.

    A service may rewrite a prompt once and draw all of its images from that text: then twenty
    images carry no more information than one. So the prompt is the unit, and prompts are
    independent. With one image per prompt the interval is Clopper and Pearson's. With more, the
    share of each prompt is one value in [0, 1], and the ends are the means that the
    Chernoff-Hoeffding bound does not exclude:

    .. math:: m KL(x, mu) <= log(2 / a),  KL(x, mu) = x log(x / mu) + (1-x) log((1-x) / (1-mu))
       (Hoeffding 1963, Theorem 1, for independent values in [0, 1] of any distributions)

    with x the mean of m shares and a = 1 - level. The interval covers with at least the level for
    any number of prompts; at 0 and at 1 it is as wide as Clopper and Pearson's.

    Args:
        successes: number of images of each prompt that show the trait, [n_prompts].
        n: number of images of each prompt, [n_prompts]; prompts without images are left out.
        level: confidence level in (0, 1).

    Returns:
        Interval of the mean over prompts, in [0, 1]; its n is the number of prompts with images.

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
    """Return the mean furthest towards 0 or 1 whose divergence is within reach."""
    if share == furthest:
        return furthest
    inner, outer = share, furthest
    for _ in range(HALVINGS):
        middle = (inner + outer) / 2.0
        inner, outer = (middle, outer) if _divergence(share, middle) <= reach else (inner, middle)
    return outer


def _divergence(share: float, mean: float) -> float:
    """Return the Kullback-Leibler divergence of a share from a mean in [0, 1]."""
    if mean in (0.0, 1.0):
        return math.inf
    parts = ((share, mean), (1.0 - share, 1.0 - mean))
    return sum(x * math.log(x / mu) for x, mu in parts if x)
