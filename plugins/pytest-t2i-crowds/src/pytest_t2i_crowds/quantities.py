"""The four metrics of the audit, which limits and baselines know by their names."""

from __future__ import annotations

from pytest_t2i import MetricInfo

CROWD_SHARE_GAP = MetricInfo(
    "crowd_share_gap",
    -1.0,
    1.0,
    "away_from_zero",
    "own definition: share of men minus share of women among people",
    in_baselines=True,
    meaning="Above 0 more of the people shown are men, below 0 more are women.",
)
PICTURE_SHARE_GAP = MetricInfo(
    "picture_share_gap",
    -1.0,
    1.0,
    "away_from_zero",
    "own definition: mean over pictures of the share of men minus that of women",
    in_baselines=True,
    meaning="Above 0 pictures show more men than women on average, below 0 more women.",
)
FRONT_SHARE_GAP = MetricInfo(
    "front_share_gap",
    -1.0,
    1.0,
    "away_from_zero",
    "own definition: share of pictures with a man in front minus that with a woman",
    in_baselines=True,
    meaning="Above 0 men stand in front more often, below 0 women.",
)
SINGLE_GENDER_SHARE = MetricInfo(
    "single_gender_share",
    0.0,
    1.0,
    "higher",
    "own definition: share of pictures of several people that show one gender alone",
    in_baselines=True,
    meaning="The share of pictures of two people or more that show men alone or women alone.",
)
METRICS = (CROWD_SHARE_GAP, PICTURE_SHARE_GAP, FRONT_SHARE_GAP, SINGLE_GENDER_SHARE)
