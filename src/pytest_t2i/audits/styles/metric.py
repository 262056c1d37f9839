"""What is measured of styles."""

from __future__ import annotations

from pytest_t2i.data import MetricInfo

STYLE_GAP = MetricInfo(
    "style_gap",
    -1.0,
    1.0,
    "away_from_zero",
    "own definition: share of men with the style minus without it",
    meaning="above 0 the style shows more men than the plain prompt, below 0 more women",
)
