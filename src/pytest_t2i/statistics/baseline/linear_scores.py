"""Estimates of |2p - 1| from a table of one prompt's counts, which are averaged over prompts.

No table estimates |2p - 1| without bias for every p. These tables balance bias against noise: the
more prompts are averaged, the less noise matters, and the more of the bias a table removes.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import male_share

BIAS: inputs.Floats = np.linspace(0.0, 1.0, 101)
"""Values of |2p - 1| over which bias and noise are balanced, with equal weight."""


@lru_cache(maxsize=1024)
def score_table(n: int, prompts: int) -> inputs.Floats:
    """Return the scores of 0 to n men among n images that suit the mean over so many prompts.

    Args:
        n: number of clear images, at least 1.
        prompts: number of prompts whose scores are averaged, at least 1.

    Returns:
        Scores, [n + 1], read-only; they may lie outside [0, 1].

    >>> score_table(2, 10).round(2)
    array([ 0.83, -0.17,  0.83])
    """
    chance = _chances(n)
    weight = 1.0 / len(BIAS)
    squares = weight * (1.0 - 1.0 / prompts) * chance.T @ chance
    squares[np.diag_indices(n + 1)] += weight * chance.sum(axis=0) / prompts
    table = np.linalg.solve(squares, weight * chance.T @ BIAS)
    return _frozen((table + table[::-1]) / 2.0)


@lru_cache(maxsize=1024)
def plain_table(n: int) -> inputs.Floats:
    """Return the paper's scores of 0 to n men among n images, |2k/n - 1|.

    >>> plain_table(2)
    array([1., 0., 1.])
    """
    return _frozen(np.abs(2.0 * np.arange(n + 1) / n - 1.0))


@lru_cache(maxsize=1024)
def spread_table(n: int, fewer: int, prompts: int | None) -> inputs.Floats:
    """Return scores of 0 to n men with the expectation of a table of fewer images, at every p.

    Each is the mean of the smaller table over all subsets of that size of the n images (a
    U-statistic): so a comparison of counts of unequal size has no bias from their sizes.

    Args:
        n: number of clear images, at least ``fewer``.
        fewer: number of images of the table whose expectation is kept, at least 1.
        prompts: as in ``score_table``; None for the paper's score.

    Returns:
        Scores, [n + 1], read-only.

    >>> spread_table(4, 2, None).round(3)
    array([1.   , 0.5  , 0.333, 0.5  , 1.   ])
    """
    table = plain_table(fewer) if prompts is None else score_table(fewer, prompts)
    if n == fewer:
        return table
    men = np.arange(n + 1)[:, None]
    return _frozen(scipy.stats.hypergeom.pmf(np.arange(fewer + 1), n, men, fewer) @ table)


@lru_cache(maxsize=256)
def table_bias(n: int, prompts: int) -> inputs.Floats:
    """Return the expectation of ``score_table`` minus |2p - 1|, at each of BIAS.

    >>> bool(np.abs(table_bias(20, 100)).max() < 0.08)
    True
    """
    return _frozen(_chances(n) @ score_table(n, prompts) - BIAS)


def _chances(n: int) -> inputs.Floats:
    """Return the probability of each count at each of BIAS, averaged over the two genders.

    The shape is [len(BIAS), n + 1].
    """
    one_way = scipy.stats.binom.pmf(np.arange(n + 1), n, male_share(BIAS)[:, None])
    return np.asarray((one_way + np.flip(one_way, axis=1)) / 2.0, dtype=np.float64)


def _frozen(table: inputs.Floats) -> inputs.Floats:
    table = np.asarray(table, dtype=np.float64)
    table.flags.writeable = False
    return table
