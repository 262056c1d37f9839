"""FairFace's nine age groups, which are the labels of every detector of age."""

from __future__ import annotations

AGES = ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70+")
STARTS = (0, 3, 10, 20, 30, 40, 50, 60, 70)
"""The first year of each group."""


def band_of(years: float) -> str:
    """The group of an age in whole years.

    >>> band_of(0), band_of(9), band_of(33), band_of(80)
    ('0-2', '3-9', '30-39', '70+')
    """
    return AGES[sum(years >= start for start in STARTS) - 1]
