"""Deconvolution: the distribution of the true bias over prompts, without the noise of few images.

A prompt's counts are Binomial(n, p) with |2p - 1| = t. Expectation maximisation on a grid fits the
nonparametric maximum likelihood distribution of t over prompts (Kiefer and Wolfowitz 1956; Laird
1978). Only |n_m - n_f| enters, as male and female are treated alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import male_share

Whole = npt.NDArray[np.int64]

# Finer towards 1, where a binomial share has least noise; 31 points are as accurate as 61.
GRID: inputs.Floats = np.sin(np.linspace(0.0, np.pi / 2.0, 31))
SIGNED: inputs.Floats = np.concatenate([-GRID[:0:-1], GRID])
# Early stopping regularises: the fit does not follow the chance spread of one sample, so the
# estimate varies less; tests/simulations compares 30 to 1500 steps (docs/decisions/0001).
STEPS = 200
# Rows fitted at once: they stay in the cache, and BLAS starts no threads for a product this small
# (with 2000 rows, threads made the fit 10 times slower on a busy machine).
CHUNK = 100
TINY = 1e-300
"""Smallest divisor."""


class Categories(NamedTuple):
    """Prompts grouped by equal (|n_m - n_f|, n_m + n_f), which have equal likelihoods."""

    of_prompt: Whole
    """Category of each prompt, [n_prompts]."""
    plug_in: inputs.Floats
    """|n_m - n_f| / (n_m + n_f) of each category, [n_categories]."""
    likelihood: inputs.Floats
    """Probability of each category at each t of GRID, relative to the largest of its row,
    [n_categories, n_grid]. The scale carries no information, and with many images would
    underflow."""
    images: Whole
    """n_m + n_f of each category, [n_categories]."""


def categorise(male: Whole, female: Whole) -> Categories:
    """Group the prompts, each of which has a clear image.

    >>> categorise(np.array([2, 0]), np.array([0, 2])).of_prompt
    array([0, 0])
    """
    pairs = np.stack([np.abs(male - female), male + female], axis=1)
    unique, of_prompt = np.unique(pairs, axis=0, return_inverse=True)
    gap, n = unique[:, :1], unique[:, 1:]
    share = male_share(GRID)
    one_way = scipy.stats.binom.logpmf((n + gap) // 2, n, share)
    other_way = scipy.stats.binom.logpmf((n - gap) // 2, n, share)
    likelihood = _relative(np.logaddexp(one_way, other_way))
    return Categories(of_prompt.ravel(), (gap / n)[:, 0], likelihood, n[:, 0])


def mean_bias(weights: inputs.Floats, likelihood: inputs.Floats) -> inputs.Floats:
    """Return the mean of t under the distribution fitted to each row of weights.

    Args:
        weights: frequency of each category, [n_samples, n_categories].
        likelihood: as in Categories, [n_categories, n_grid].

    Returns:
        Estimates in [0, 1], [n_samples].

    >>> two = categorise(np.array([20, 10]), np.array([0, 10]))
    >>> mean_bias(np.array([[1.0, 0.0], [0.0, 1.0]]), two.likelihood).round(1)
    array([0., 1.])
    """
    rows = np.asarray(weights / np.sum(weights, axis=1, keepdims=True), dtype=np.float64)
    starts = range(0, len(rows), CHUNK)
    mixing = [_fit(rows[start : start + CHUNK], likelihood) for start in starts]
    return np.clip(np.concatenate(mixing) @ GRID, 0.0, 1.0)


def mean_departure(shown: Whole, n: Whole, expected: inputs.Floats) -> float:
    """Return the mean of |p - r| over prompts, each of which has a reference share r of its own.

    The deconvolved variable is u in [-1, 1], the relative position of p between r and the end of
    the scale on its side: p = r + u (1 - r) for u > 0, and p = r + u r otherwise. So every u is
    possible for every r, and with r = 1/2 it is 2p - 1.

    Args:
        shown: number of images with the label, [n_prompts].
        n: number of images with any label, above 0, [n_prompts].
        expected: share r of the label in the reference, [n_prompts].

    Returns:
        The estimate in [0, 1].

    >>> round(mean_departure(np.array([20, 0]), np.array([20, 20]), np.array([0.5, 0.5])), 1)
    0.5
    """
    rows, times = np.unique(np.stack([shown, n, expected], axis=1), axis=0, return_counts=True)
    k, size, r = rows[:, :1], rows[:, 1:2], rows[:, 2:]
    departure = np.where(SIGNED > 0, SIGNED * (1.0 - r), SIGNED * r)
    logarithms = scipy.stats.binom.logpmf(k, size, np.clip(r + departure, 0.0, 1.0))
    likelihood = _relative(np.asarray(logarithms, dtype=np.float64))
    weights = inputs.floats("times", times / times.sum())
    mixing = _fit(weights.reshape(1, -1), likelihood)[0]
    posterior = mixing * likelihood
    posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), TINY)
    return float(weights @ np.sum(posterior * np.abs(departure), axis=1))


def _relative(logarithms: inputs.Floats) -> inputs.Floats:
    """Return the likelihoods of each row as multiples of the row's largest."""
    largest = np.max(logarithms, axis=1, keepdims=True)
    return np.asarray(np.exp(logarithms - largest), dtype=np.float64)


def _fit(weights: inputs.Floats, likelihood: inputs.Floats) -> inputs.Floats:
    transposed = np.ascontiguousarray(likelihood.T)
    mixing = np.ones((len(weights), likelihood.shape[1]))
    ratio = np.empty_like(weights)
    for _ in range(STEPS):
        np.matmul(mixing, transposed, out=ratio)
        # The fit may give probability 0 to a category that a resample left out: 0/0 otherwise.
        np.divide(weights, np.maximum(ratio, TINY, out=ratio), out=ratio)
        mixing *= ratio @ likelihood
    return mixing
