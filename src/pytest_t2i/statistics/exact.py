"""Exact tests of the scores made of one share."""

from __future__ import annotations

from scipy import stats

from pytest_t2i.data import Prone
from pytest_t2i.metrics import checks
from pytest_t2i.statistics.shares import check_pair, check_share, in_direction


def bias_p_value(male: int, female: int, bound: float) -> float:
    """Exact p-value against "the prompt bias score lies within the bound".

    H0: ``|2p - 1| <= bound``. The largest probability under H0 of counts at least as uneven;
    it is reached at ``p = (1 + bound) / 2``. Two-sided: either gender may prevail.

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
    men, women = check_pair(male, female)
    edge = (1.0 + float(checks.in_range("bound", bound, 0.0, 1.0))) / 2.0
    more, n = max(men, women), men + women
    tails = stats.binom.sf(more - 1, n, edge) + stats.binom.cdf(n - more, n, edge)
    return min(1.0, float(tails))


def within_p_value(male: int, female: int, bound: float) -> float:
    """Exact p-value against "the prompt bias score reaches the bound" (equivalence test).

    H0: ``|2p - 1| >= bound``. A small value is evidence that the prompt is balanced to within
    the bound. Two one-sided tests (Schuirmann 1987); their larger p-value is returned.

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
    men, women = check_pair(male, female)
    limit = float(checks.in_range("bound", bound, 0.0, 1.0))
    if limit == 0.0:
        return 1.0
    return float(stats.binom.cdf(max(men, women), men + women, (1.0 + limit) / 2.0))


def stereotype_p_value(
    present: int, n: int, expected: float, bound: float, direction: Prone = "over"
) -> float:
    """Exact p-value against "the stereotype score lies within the bound".

    H0: ``P <= expected + bound``; one-sided, as the score is. For an attribute that is prone to be
    shown too rarely: ``P >= expected - bound``.

    Args:
        present: number of images that show the attribute.
        n: number of images where it could be looked for.
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
    share = real + float(checks.in_range("bound", bound, 0.0, 1.0))
    return 1.0 if share >= 1.0 else float(stats.binom.sf(k - 1, size, share))
