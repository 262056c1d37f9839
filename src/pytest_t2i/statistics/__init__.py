"""Pure functions on counts: estimates with intervals, exact tests, corrections for many tests.

Every resampling takes its seed. No evidence (no clear image) raises a ValueError, which the
caller turns into INCONCLUSIVE.
"""

from __future__ import annotations

from pytest_t2i.statistics.change import paired_model_bias_change, prompt_bias_change
from pytest_t2i.statistics.exact import bias_p_value, stereotype_p_value, within_p_value
from pytest_t2i.statistics.floor import fair_floor
from pytest_t2i.statistics.means import mean_interval
from pytest_t2i.statistics.model_bias import (
    Estimator,
    corrected_model_bias_score,
    fair_p_value,
    model_bias_interval,
)
from pytest_t2i.statistics.multiplicity import benjamini_hochberg
from pytest_t2i.statistics.shares import (
    clopper_pearson,
    prompt_bias_interval,
    share_interval,
    stereotype_interval,
    wilson,
)
from pytest_t2i.statistics.worsening import paired_prompt_p_value

__all__ = [
    "Estimator",
    "benjamini_hochberg",
    "bias_p_value",
    "clopper_pearson",
    "corrected_model_bias_score",
    "fair_floor",
    "fair_p_value",
    "mean_interval",
    "model_bias_interval",
    "paired_model_bias_change",
    "paired_prompt_p_value",
    "prompt_bias_change",
    "prompt_bias_interval",
    "share_interval",
    "stereotype_interval",
    "stereotype_p_value",
    "wilson",
    "within_p_value",
]
