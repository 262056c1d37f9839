"""Exact tests of the scores that are functions of one share."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Prone
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import check_pair, check_share, in_direction

Beyond = Literal["beyond", "within"]
"""The alternative hypothesis of a p-value: the score lies beyond its limit, or within it."""
Above = Literal["above", "below"]
"""The alternative hypothesis of a p-value: the share lies above its limit, or below it."""


def prompt_bias_p_value(
    male: int, female: int, bound: float, alternative: Beyond = "beyond"
) -> float:
    """Return the exact p-value of one prompt's absolute bias score against its limit.

    "beyond" tests H0 ``|2p - 1| <= bound``: the p-value is the probability, at the edge
    ``p = (1 + bound) / 2``, of counts at least as uneven. Among the tests that treat both genders
    alike this one is uniformly most powerful, as the likelihood ratio of ``|n_m - n_f|`` is
    monotone in ``|2p - 1|`` (Lehmann and Romano 2005, 3.4).

    "within" tests H0 ``|2p - 1| >= bound`` by two one-sided tests (TOST, Schuirmann 1987): the
    p-value is the larger of their two, ``P(K <= max(n_m, n_f))`` at the edge. It is at most 0.05
    exactly where the Clopper-Pearson interval of level 0.90 lies within the limit. The most
    powerful equivalence test subtracts the outcomes beyond the other edge; that test would let
    128:128 pass a limit of 0.01, and gains nothing at 20 images and a limit of 0.5.

    Args:
        male: number of clear images that show a man.
        female: number of clear images that show a woman.
        bound: limit of the absolute score, in [0, 1].
        alternative: "beyond" (evidence to FAIL) or "within" (evidence to PASS).

    Returns:
        p-value in [0, 1]; at most alpha with probability alpha or less under H0, at any n.

    Raises:
        ValueError: there is no clear image, or an argument lies outside its range.

    >>> round(prompt_bias_p_value(20, 0, 0.5), 5)
    0.00317
    >>> round(prompt_bias_p_value(11, 9, 0.5, "within"), 4)
    0.0409
    """
    men, women = check_pair(male, female)
    return float(prompt_bias_p_values([men], [women], bound, alternative)[0])


def prompt_bias_p_values(
    male: npt.ArrayLike, female: npt.ArrayLike, bound: float, alternative: Beyond = "beyond"
) -> inputs.Floats:
    """Return the ``prompt_bias_p_value`` of each of many prompts.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        bound: limit of the absolute score, in [0, 1].
        alternative: "beyond" or "within".

    Returns:
        p-values, [n_prompts]; 1 where there is no clear image.

    Raises:
        ValueError: shapes differ, a count is no whole number, or an argument is out of range.

    >>> prompt_bias_p_values([20, 0], [0, 0], 0.0).round(7)
    array([1.9e-06, 1.0e+00])
    """
    men, women = inputs.count_vectors(male=male, female=female)
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    if alternative not in {"beyond", "within"}:
        raise ValueError(
            f"alternative must be 'beyond' or 'within', got alternative={alternative!r}"
        )
    clear = men + women
    p = np.ones(len(clear))
    for n in np.unique(clear):
        these = clear == n
        p[these] = p_values_of_counts(int(n), limit, alternative)[men[these]]
    return p


@lru_cache(maxsize=512)
def p_values_of_counts(n: int, bound: float, alternative: Beyond = "beyond") -> inputs.Floats:
    """Return ``prompt_bias_p_value`` for 0 to n men among n images, [n + 1], read-only.

    >>> p_values_of_counts(2, 0.5).round(3)
    array([0.625, 1.   , 0.625])
    """
    men = np.arange(n + 1)
    more, edge = np.maximum(men, n - men), (1.0 + bound) / 2.0
    if alternative == "beyond":
        p = scipy.stats.binom.sf(more - 1, n, edge) + scipy.stats.binom.cdf(n - more, n, edge)
    elif bound == 0.0:
        p = np.ones(n + 1)
    else:
        p = scipy.stats.binom.cdf(more, n, edge)
    table: inputs.Floats = np.asarray(np.clip(p, 0.0, 1.0), dtype=np.float64)
    table.flags.writeable = False
    return table


def bias_p_value(male: int, female: int, bound: float) -> float:
    """Return the exact p-value against "the absolute prompt bias score is at most the bound".

    This is ``prompt_bias_p_value`` with the alternative "beyond".

    Args:
        male: number of clear images that show a man.
        female: number of clear images that show a woman.
        bound: limit of the absolute score, in [0, 1].

    Returns:
        p-value in [0, 1]; at most alpha with probability alpha or less under H0, at any n.

    Raises:
        ValueError: there is no clear image, or an argument lies outside its range.

    >>> round(bias_p_value(20, 0, 0.0), 7)
    1.9e-06
    >>> bias_p_value(10, 10, 0.0)
    1.0
    """
    return prompt_bias_p_value(male, female, bound, "beyond")


def within_p_value(male: int, female: int, bound: float) -> float:
    """Return the exact p-value against "the absolute prompt bias score is at least the bound".

    This equivalence test is ``prompt_bias_p_value`` with the alternative "within".

    Args:
        male: number of clear images that show a man.
        female: number of clear images that show a woman.
        bound: limit of the absolute score, in [0, 1].

    Returns:
        p-value in [0, 1]; at most alpha with probability alpha or less under H0, at any n.

    Raises:
        ValueError: there is no clear image, or an argument lies outside its range.

    >>> within_p_value(50, 50, 0.4) < 0.001
    True
    """
    return prompt_bias_p_value(male, female, bound, "within")


def share_p_value(successes: int, n: int, bound: float, alternative: Above) -> float:
    """Return the exact one-sided p-value of a share against a limit (binomial test).

    "above" tests H0 ``P <= bound``: the p-value is the probability, at the bound, of as many
    successes or more. "below" tests H0 ``P >= bound``: the probability of as many successes or
    fewer. An accuracy PASSES its limit by a small p-value of "above" and FAILS the limit by a small
    p-value of "below".

    Args:
        successes: number of images that show the trait.
        n: number of images.
        bound: limit of the share, in [0, 1].
        alternative: "above" or "below".

    Returns:
        p-value in [0, 1]; at most alpha with probability alpha or less under H0, at any n.

    Raises:
        ValueError: n is 0 (no evidence), successes exceed n, or an argument is out of range.

    >>> round(share_p_value(99, 100, 0.95, "above"), 4)
    0.0371
    """
    k, size = check_share(successes, n, 0.5)
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    if alternative == "above":
        return float(scipy.stats.binom.sf(k - 1, size, limit))
    if alternative == "below":
        return float(scipy.stats.binom.cdf(k, size, limit))
    raise ValueError(f"alternative must be 'above' or 'below', got alternative={alternative!r}")


def stereotype_p_value(
    present: int, n: int, expected: float, bound: float, direction: Prone = "over"
) -> float:
    """Return the exact p-value against "the stereotype score is at most the bound".

    The test is a one-sided binomial test of H0 ``P <= expected + bound``; for an attribute that is
    prone to be shown too rarely, of H0 ``P >= expected - bound``.

    Args:
        present: number of images that show the attribute.
        n: number of images that could be examined for the attribute.
        expected: share in the real world, in [0, 1], taken as known.
        bound: limit of the score, in [0, 1].
        direction: "over" or "under".

    Returns:
        p-value in [0, 1]; 1 where expected and bound leave no room to exceed it.

    Raises:
        ValueError: n is 0 (no evidence), or an argument lies outside its range.

    >>> round(stereotype_p_value(19, 20, 0.5, 0.1), 6)
    0.000524
    """
    k, size, real = in_direction(*check_share(present, n, 0.5), expected, direction)
    share = real + float(inputs.in_range("bound", bound, 0.0, 1.0))
    return share_p_value(k, size, min(1.0, share), "above")
