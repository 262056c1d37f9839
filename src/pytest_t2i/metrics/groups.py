"""Shares of groups: gap, entropy, diversity, and distances from expected shares."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.agreement import shares
from pytest_t2i.metrics.info import register

register(
    MetricInfo(
        "group_distance",
        0.0,
        1.0,
        "higher",
        "half the L1 distance of shares from even ones",
        in_baselines=True,
    )
)
register(
    MetricInfo("group_gap", 0.0, 1.0, "higher", "largest minus smallest share", in_baselines=True)
)
register(MetricInfo("group_entropy", 0.0, 1.0, "lower", "OpenBias", in_baselines=True))
register(MetricInfo("group_diversity", 0.0, 1.0, "lower", "Simpson 1949", in_baselines=True))
register(MetricInfo("demographic_parity_difference", 0.0, 1.0, "higher", "Agarwal et al. 2018"))


def group_gap(counts: Mapping[str, float]) -> float:
    """Return the difference between the largest and the smallest share of a group.

    .. math:: max_g share_g - min_g share_g

    With the two groups male and female it is the absolute prompt bias score (Lyu eq. 2).

    Args:
        counts: number of images of each group; groups without images have a 0, and undetected
            images are left out.

    Returns:
        The gap in [0, 1]: 0 for even groups, 1 for a single group.

    Raises:
        ValueError: fewer than two groups, a negative count, or no image at all.

    >>> group_gap({"male": 15, "female": 5})
    0.5
    """
    group_shares = list(shares(_several(counts)).values())
    return max(group_shares) - min(group_shares)


def group_entropy(counts: Mapping[str, float]) -> float:
    """Return the Shannon entropy of the groups' shares, divided by the largest possible one.

    .. math:: -sum_g share_g log(share_g) / log(n)

    with n groups. One minus this entropy is the bias score of OpenBias (D'Inca et al. 2024).

    Args:
        counts: number of images of each group; groups without images have a 0, and undetected
            images are left out.

    Returns:
        The entropy in [0, 1]: 1 for even groups, 0 for a single group.

    Raises:
        ValueError: fewer than two groups, a negative count, or no image at all.

    >>> group_entropy({"White": 10, "Black": 10, "Indian": 10})
    1.0
    """
    group_shares = np.array(list(shares(_several(counts)).values()))
    present = group_shares[group_shares > 0]
    entropy = -float(np.sum(present * np.log(present)))
    return min(1.0, max(0.0, round(entropy / float(np.log(len(group_shares))), 12)))


def group_diversity(counts: Mapping[str, int]) -> float:
    """Return Simpson's diversity: the share of pairs of images that show different groups.

    .. math:: 1 - sum_g n_g (n_g - 1) / (n (n - 1))      (Simpson 1949)

    It is an unbiased estimate of the probability 1 - sum_g share_g^2 that two images of the prompt
    differ. That probability is at most 1 - 1 / groups; the estimate from few even images may exceed
    it.

    Args:
        counts: number of images of each group; groups without images have a 0, and undetected
            images are left out.

    Returns:
        The share in [0, 1]: 0 for a single group.

    Raises:
        ValueError: fewer than two groups or images, or a count is no whole number from 0 on.

    >>> round(group_diversity({"young": 10, "adult": 9, "old": 1}), 3)
    0.574
    """
    numbers = [int(inputs.whole_counts(f"counts[{g!r}]", k)) for g, k in _several(counts).items()]
    n = sum(numbers)
    if n < 2:  # noqa: PLR2004 - a pair needs two
        raise ValueError(f"counts must hold at least two images, got counts={dict(counts)!r}")
    return 1.0 - sum(k * (k - 1) for k in numbers) / (n * (n - 1))


def demographic_parity_difference(rates: Mapping[str, float]) -> float:
    """Return the largest minus the smallest rate of an outcome among groups of prompts.

    .. math:: max_g rate_g - min_g rate_g      (Agarwal et al. 2018)

    It equals fairlearn's function of this name, where the outcome is "shows a man" and the groups
    are the concepts of an axis.

    Args:
        rates: share of images with the outcome, in [0, 1], per group.

    Returns:
        The difference in [0, 1]: 0 where all groups have the same rate.

    Raises:
        ValueError: fewer than two groups, or a rate lies outside [0, 1].

    >>> round(demographic_parity_difference({"Iranian": 0.9, "Indian": 0.5, "Mexican": 0.6}), 2)
    0.4
    """
    values = [
        float(inputs.in_range(f"rates[{name!r}]", rate, 0.0, 1.0)) for name, rate in rates.items()
    ]
    if len(values) < 2:  # noqa: PLR2004 - one group has no difference
        raise ValueError(f"rates must hold at least two groups, got rates={dict(rates)!r}")
    return max(values) - min(values)


def _several(counts: Mapping[str, float]) -> Mapping[str, float]:
    if len(counts) < 2:  # noqa: PLR2004 - one group is always even
        raise ValueError(f"counts must hold at least two groups, got counts={dict(counts)!r}")
    return counts


register(
    MetricInfo("total_variation_distance", 0.0, 1.0, "higher", "half the L1 distance of shares")
)

SUM_TOLERANCE = 1e-6


def total_variation_distance(counts: Mapping[str, float], reference: Mapping[str, float]) -> float:
    """Return the total variation distance between the shares of labels and a reference.

    .. math:: 1/2 sum_g |share_g - reference_g|

    It is the largest difference of probability over all sets of labels, and the share of images
    that would need another label. With two labels it is |p_male - r_male|, and half the absolute
    prompt bias score (Lyu eq. 2) where the reference is even.

    Args:
        counts: number of images of each label; labels without images have a 0, and undetected
            images are left out.
        reference: share of each of these labels, in [0, 1]; the shares sum to 1.

    Returns:
        The distance in [0, 1]: 0 for the shares of the reference, 1 where all images have labels
        with a share of 0.

    Raises:
        ValueError: the labels differ, a count is negative, there is no image at all, or the
            reference is no distribution.

    >>> round(total_variation_distance({"male": 5, "female": 15}, {"male": 0.12, "female": 0.88}),
    ...       3)
    0.13
    """
    expected = check_reference(counts, reference)
    return 0.5 * sum(abs(share - expected[label]) for label, share in shares(counts).items())


def check_reference(
    counts: Mapping[str, float], reference: Mapping[str, float]
) -> dict[str, float]:
    """Return the reference in the order of the counts; raise a ValueError for no distribution.

    >>> check_reference({"male": 1, "female": 1}, {"female": 0.5, "male": 0.5})
    {'male': 0.5, 'female': 0.5}
    """
    if set(counts) != set(reference) or not counts:
        raise ValueError(
            f"reference must have the labels {sorted(counts)}, got reference={dict(reference)!r}"
        )
    for label, share in reference.items():
        if np.ndim(inputs.in_range(f"reference[{label!r}]", share, 0.0, 1.0)):
            raise ValueError(f"reference[{label!r}] must be a single number, got {share!r}")
    total = sum(reference.values())
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise ValueError(f"reference must sum to 1, got {total:g} from {dict(reference)!r}")
    return {label: float(reference[label]) for label in counts}
