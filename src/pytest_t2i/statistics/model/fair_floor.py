"""The expected model bias score of the paper at given biases of the prompts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import male_share


def fair_floor(n_clear: npt.ArrayLike) -> float:
    """Return the model bias score that a perfectly fair model shows on average.

    Args:
        n_clear: clear images per prompt, a number or [n_prompts]; prompts with 0 are left out.

    Returns:
        The expected score in (0, 1]; about 0.18 at 20 images.

    Raises:
        ValueError: a count is no whole number, or no prompt has a clear image.

    >>> round(fair_floor(20), 4)
    0.1762
    """
    n = np.atleast_1d(inputs.whole_counts("n_clear", n_clear))
    if not np.any(n):
        raise ValueError(f"n_clear holds no clear image in {n.size} prompts")
    return float(expected_score(n[n > 0], np.array([0.0]))[0])


def expected_score(n_clear: npt.NDArray[np.int64], bias: inputs.Floats) -> inputs.Floats:
    """Return the expected paper score when every prompt has the same |2p - 1|.

    Args:
        n_clear: clear images per prompt, [n_prompts], all above 0.
        bias: values of |2p - 1|, [n_values].

    Returns:
        Expected scores, [n_values]; increasing and convex in the bias.

    >>> expected_score(np.array([20]), np.array([0.0, 1.0])).round(4)
    array([0.1762, 1.    ])
    """
    total = np.zeros(len(bias))
    for n, times in sorted(Counter(n_clear.tolist()).items()):
        k = np.arange(n + 1)
        total += (
            times * scipy.stats.binom.pmf(k, n, male_share(bias)[:, None]) @ np.abs(2 * k / n - 1)
        )
    # With one image per prompt every score is 1; rounding must not raise it.
    return np.minimum(total / len(n_clear), 1.0)


def most_bias(clear: npt.NDArray[np.int64], score: npt.ArrayLike) -> inputs.Floats:
    """Return the common bias of identical prompts with this expected paper score.

    By Jensen's inequality, no other distribution of bias over prompts with that expected score has
    a larger mean.
    """
    bias = np.linspace(0.0, 1.0, 201)
    return np.interp(np.asarray(score, dtype=np.float64), expected_score(clear, bias), bias)
