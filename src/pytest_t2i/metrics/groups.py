"""Shares of groups: their distances from expected shares, and differences between prompts."""

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
        of_prompt="group_distance",
        ends=("0 even", "1 one group only"),
    )
)
register(MetricInfo("demographic_parity_difference", 0.0, 1.0, "higher", "Agarwal et al. 2018"))


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
