"""Inference on counts: intervals, exact tests, corrections for many tests, and plans.

All functions are pure. Every resampling takes its seed. No evidence (no clear image) raises a
ValueError, which the caller turns into INCONCLUSIVE.

>>> from pytest_t2i import statistics
>>> print(statistics.share_interval(15, 20, level=0.95))
0.750 [0.526, 0.896]
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from pytest_t2i.statistics.associations import (
    distance_correlation_interval,
    distance_correlation_p_value,
)
from pytest_t2i.statistics.change import paired_model_bias_change
from pytest_t2i.statistics.correction import corrected_scores
from pytest_t2i.statistics.families import benjamini_hochberg, family_p_values
from pytest_t2i.statistics.gaps import share_difference_interval
from pytest_t2i.statistics.inversion import inverted_p_value, one_sided
from pytest_t2i.statistics.means import gap_p_value, mean_interval
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
    clopper_pearson,
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
    "clopper_pearson",
    "corrected_model_bias_score",
    "corrected_scores",
    "distance_correlation_interval",
    "distance_correlation_p_value",
    "fair_floor",
    "family_p_values",
    "gap_p_value",
    "independence_p_value",
    "inverted_p_value",
    "mean_interval",
    "model_bias_interval",
    "model_bias_p_value",
    "object_bias_intervals",
    "one_sided",
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

MOVED = {
    "associations": "rank_correlation_interval",
    "change": (
        "PairedScores growth_probabilities paired_model_bias_scores "
        "paired_prompt_p_value prompt_bias_change"
    ),
    "correction": "CorrectedScores effective_counts",
    "curves": "Band half_step half_step_interval mean_band settled_step",
    "deprecated": (
        "adjusted_model_bias_score bias_p_value mean_total_variation_p_value stereotype_p_value "
        "within_p_value worst_case_counts"
    ),
    "detectors": (
        "deviation_interval f1_interval fleiss_interval kappa_interval paired_share_change"
    ),
    "distances": (
        "mean_total_variation_interval total_variation_bounds "
        "total_variation_floor total_variation_interval total_variation_p_value"
    ),
    "families": (
        "Decidable Fewest Lean adaptive_discarding decidable "
        "family_share_p_values fewest_images holm leaning leans storey"
    ),
    "gaps": (
        "paired_gap_interval paired_gap_p_value parity_difference_interval "
        "parity_difference_p_value parity_shares share_difference_p_value widest_gap"
    ),
    "group_sequential": "Boundaries Expected SequentialTest expected_stop stopped_share_interval",
    "means": "gap_interval gap_sign_p_value",
    "objects": "object_bias_p_values",
    "permutation": "paired_change_p_value",
    "planning": "model_images_needed",
    "ranks": "Rank group_ranking groups_differ_p_value",
    "shares": "blaker share_by_prompt_interval stereotype_interval",
    "undetected": "worst_case_bounds",
    "variety": ("mean_wals_interval wals_at_level wals_change_interval wals_interval"),
}
"""Module -> names that are no longer exported, but importable here for one more release."""


def __getattr__(name: str) -> Any:
    """Forward a name that is no longer exported to the module that owns it, with a warning."""
    for module, names in MOVED.items():
        if name in names.split():
            owner = f"{__name__}.{module}"
            text = f"{__name__}.{name} is no longer exported: {owner} has it for now"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return getattr(import_module(owner), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
