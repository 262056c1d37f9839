"""Statistics of picture features, for all pictures and with each left out in turn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pytest_t2i_mitigation.mitigated.intervals import LeftOut

Rows = np.ndarray
"""The unit-length features of a prompt's pictures, [n_images, d], in the order of seeds."""


def unit(features: np.ndarray) -> Rows:
    """Return rows of length 1; a row of zeros stays."""
    length = np.linalg.norm(features, axis=-1, keepdims=True)
    return np.asarray(features / np.where(length > 0.0, length, 1.0))


def variety(rows: Rows) -> LeftOut:
    """Return the Vendi score: how many different pictures there are."""
    return _left_out(_vendi_score, rows)


def _vendi_score(rows: Rows) -> float:
    """Return the effective number of pictures with nothing in common, from 1 to n_images.

    .. math:: exp(-sum_i l_i log l_i)      (Friedman and Dieng 2023, Def. 3.1, order 1)

    with the eigenvalues l_i of K / n, where K holds the cosines between the features of n pictures.

    >>> _vendi_score(np.array([[1.0, 0.0], [0.0, 1.0]]))
    2.0
    >>> _vendi_score(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]))
    1.0
    """
    if not rows.any(axis=1).all():
        raise ValueError("features must not hold a row of zeros: it has no direction")
    # The smaller of the two Gram matrices, which have the same non-zero eigenvalues.
    gram = rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows
    shares = np.linalg.eigvalsh(gram / len(rows))
    shares = shares[shares > len(shares) * np.finfo(np.float64).eps]
    score = float(np.exp(-np.sum(shares * np.log(shares))))
    return min(max(score, 1.0), float(len(rows)))


def distance(first: Rows, second: Rows) -> LeftOut:
    """Return the unbiased squared maximum mean discrepancy of pictures that share seeds.

    .. math:: mean_{i != j} k(x_i, x_j) + k(y_i, y_j) - k(x_i, y_j) - k(x_j, y_i),
       k(x, y) = (cos(x, y) + 1)^3

    This is the kernel distance (KID) of Binkowski et al. 2018 with features of unit length. Pairs
    of one seed are left out, as such pictures are not independent (Gretton et al. 2012, lemma 6).

    >>> same = unit(np.random.default_rng(0).normal(size=(9, 4)))
    >>> distance(same, same).all
    0.0
    """
    if np.array_equal(first, second):
        return LeftOut(0.0, np.zeros(len(first)))
    first_second = _kernel(first, second)
    pairs = _kernel(first, first) + _kernel(second, second) - first_second - first_second.T
    np.fill_diagonal(pairs, 0.0)
    count, total = len(pairs), float(pairs.sum())
    without = (total - 2.0 * pairs.sum(axis=1)) / ((count - 1) * (count - 2))
    return LeftOut(total / (count * (count - 1)), without)


def alignment(rows: Rows, own: np.ndarray, others: np.ndarray) -> LeftOut:
    """Return how much nearer pictures are to their own prompt's text than to those of others.

    .. math:: mean over pictures of cos(x, own) - mean over others of cos(x, other)

    This is the CLIP score of Hessel et al. 2021 minus that with other prompts. ``own`` is [d],
    ``others`` is [n_others, d].
    """
    nearer = rows @ own - (rows @ others.T).mean(axis=1)
    count = len(nearer)
    return LeftOut(float(nearer.mean()), (nearer.sum() - nearer) / (count - 1))


def shown(rows: Rows, own: int, texts: np.ndarray) -> np.ndarray:
    """Return whether each picture is nearest to its own text of several, [n_images] of bool.

    This is the R-precision of Park et al. 2021, with the prompts of the test as candidates.
    """
    return np.asarray((rows @ texts.T).argmax(axis=1) == own)


def minus(first: LeftOut, second: LeftOut) -> LeftOut:
    """Return the difference, for all pictures and without each."""
    return LeftOut(first.all - second.all, first.without - second.without)


def _left_out(statistic: Callable[[Rows], float], rows: Rows) -> LeftOut:
    without = [statistic(np.delete(rows, k, axis=0)) for k in range(len(rows))]
    return LeftOut(statistic(rows), np.array(without))


def _kernel(first: Rows, second: Rows) -> np.ndarray:
    return np.asarray((first @ second.T + 1.0) ** 3)
