"""Inference on counts: intervals, exact tests, corrections for many tests, and plans.

All functions are pure. Every resampling takes its seed. No evidence (no clear image) raises a
ValueError, which the caller turns into INCONCLUSIVE.

>>> from pytest_t2i import statistics
>>> print(statistics.share_interval(15, 20, level=0.95))
0.750 [0.509, 0.913]
"""

from __future__ import annotations

from pytest_t2i.statistics.associations import (
    distance_correlation_interval,
    distance_correlation_p_value,
)
from pytest_t2i.statistics.change import paired_model_bias_change
from pytest_t2i.statistics.correction import corrected_scores
from pytest_t2i.statistics.families import benjamini_hochberg, family_p_values, holm
from pytest_t2i.statistics.gaps import (
    interval_difference,
    paired_gap_interval,
    share_difference_interval,
)
from pytest_t2i.statistics.inversion import inverted_p_value, one_sided
from pytest_t2i.statistics.means import gap_interval, gap_p_value, mean_interval
from pytest_t2i.statistics.model import (
    corrected_model_bias_score,
    fair_floor,
    model_bias_interval,
    model_bias_p_value,
)
from pytest_t2i.statistics.objects import independence_p_value, object_bias_intervals
from pytest_t2i.statistics.permutation import change_p_value
from pytest_t2i.statistics.planning import Design, prompt_power
from pytest_t2i.statistics.ranks import ranking
from pytest_t2i.statistics.shares import (
    prompt_bias_interval,
    prompt_bias_p_value,
    prompt_bias_p_values,
    share_interval,
    share_p_value,
)

__all__ = [
    "Design",
    "benjamini_hochberg",
    "change_p_value",
    "corrected_model_bias_score",
    "corrected_scores",
    "distance_correlation_interval",
    "distance_correlation_p_value",
    "fair_floor",
    "family_p_values",
    "gap_interval",
    "gap_p_value",
    "holm",
    "independence_p_value",
    "interval_difference",
    "inverted_p_value",
    "mean_interval",
    "model_bias_interval",
    "model_bias_p_value",
    "object_bias_intervals",
    "one_sided",
    "paired_gap_interval",
    "paired_model_bias_change",
    "prompt_bias_interval",
    "prompt_bias_p_value",
    "prompt_bias_p_values",
    "prompt_power",
    "ranking",
    "share_difference_interval",
    "share_interval",
    "share_p_value",
]
