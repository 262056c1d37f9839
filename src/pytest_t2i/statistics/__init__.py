"""Inference on counts: intervals, exact tests, corrections for many tests, and plans.

All functions are pure. Every resampling takes its seed. No evidence (no clear image) raises a
ValueError, which the caller turns into INCONCLUSIVE.

>>> from pytest_t2i import statistics
>>> print(statistics.share_interval(15, 20, level=0.95))
0.750 [0.526, 0.896]
"""

from __future__ import annotations

from pytest_t2i.statistics.associations import (
    distance_correlation_interval,
    distance_correlation_p_value,
    rank_correlation_interval,
)
from pytest_t2i.statistics.change import (
    PairedScores,
    growth_probabilities,
    paired_model_bias_change,
    paired_model_bias_scores,
)
from pytest_t2i.statistics.correction import (
    CorrectedScores,
    CorrectedShares,
    adjusted_model_bias_score,
    corrected_scores,
    corrected_shares,
    effective_counts,
)
from pytest_t2i.statistics.detectors import (
    deviation_interval,
    f1_interval,
    fleiss_interval,
    kappa_interval,
    paired_share_change,
)
from pytest_t2i.statistics.distances import (
    mean_total_variation_interval,
    mean_total_variation_p_value,
    total_variation_bounds,
    total_variation_floor,
    total_variation_interval,
    total_variation_p_value,
)
from pytest_t2i.statistics.diversity.vendi import vendi_at_level, vendi_interval
from pytest_t2i.statistics.diversity.wals import (
    mean_wals_interval,
    wals_at_level,
    wals_change_interval,
    wals_interval,
)
from pytest_t2i.statistics.families.empirical_bayes import Lean, leaning, leans
from pytest_t2i.statistics.families.false_discovery import (
    adaptive_discarding,
    benjamini_hochberg,
    benjamini_yekutieli,
    holm,
    storey,
)
from pytest_t2i.statistics.families.p_values import (
    Decidable,
    Fewest,
    decidable,
    family_p_values,
    family_share_p_values,
    fewest_images,
)
from pytest_t2i.statistics.gaps import (
    paired_gap_interval,
    paired_gap_p_value,
    parity_difference_interval,
    parity_difference_p_value,
    parity_shares,
    widest_gap,
)
from pytest_t2i.statistics.group_sequential import (
    Boundaries,
    Expected,
    SequentialTest,
    expected_stop,
    stopped_share_interval,
)
from pytest_t2i.statistics.groups import group_entropy_interval, group_gap_interval, group_intervals
from pytest_t2i.statistics.history import ChangePoint, change_points
from pytest_t2i.statistics.inversion import inverted_p_value, one_sided
from pytest_t2i.statistics.means.bands import (
    Band,
    half_step,
    half_step_interval,
    mean_band,
    settled_step,
)
from pytest_t2i.statistics.means.fixed import (
    gap_interval,
    gap_p_value,
    gap_sign_p_value,
)
from pytest_t2i.statistics.means.mean import mean_interval
from pytest_t2i.statistics.model import (
    Estimator,
    Words,
    corrected_model_bias_score,
    fair_floor,
    fair_p_value,
    model_bias_interval,
    model_bias_p_value,
)
from pytest_t2i.statistics.objects import (
    independence_p_value,
    object_bias_intervals,
    object_bias_p_values,
)
from pytest_t2i.statistics.permutation import change_p_value, paired_change_p_value
from pytest_t2i.statistics.planning import Design, model_images_needed, prompt_power
from pytest_t2i.statistics.prompt_change import paired_prompt_p_value, prompt_bias_change
from pytest_t2i.statistics.ranks import Rank, group_ranking, groups_differ_p_value, ranking
from pytest_t2i.statistics.sequences import (
    bias_sequence_p_value,
    group_distance_sequence,
    group_distance_sequence_p_value,
    look_level,
    looks,
    model_bias_look,
    prompt_bias_sequence,
    share_confidence_sequence,
    stereotype_sequence,
    stereotype_sequence_p_value,
)
from pytest_t2i.statistics.shares import (
    bias_p_value,
    blaker,
    clopper_pearson,
    prompt_bias_interval,
    prompt_bias_p_value,
    prompt_bias_p_values,
    share_by_prompt_interval,
    share_interval,
    share_p_value,
    stereotype_interval,
    stereotype_p_value,
    within_p_value,
)
from pytest_t2i.statistics.two_shares import share_difference_interval, share_difference_p_value
from pytest_t2i.statistics.undetected import worst_case_bounds, worst_case_counts

__all__ = [
    "Band",
    "Boundaries",
    "ChangePoint",
    "CorrectedScores",
    "CorrectedShares",
    "Decidable",
    "Design",
    "Estimator",
    "Expected",
    "Fewest",
    "Lean",
    "PairedScores",
    "Rank",
    "SequentialTest",
    "Words",
    "adaptive_discarding",
    "adjusted_model_bias_score",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "bias_p_value",
    "bias_sequence_p_value",
    "blaker",
    "change_p_value",
    "change_points",
    "clopper_pearson",
    "corrected_model_bias_score",
    "corrected_scores",
    "corrected_shares",
    "decidable",
    "deviation_interval",
    "distance_correlation_interval",
    "distance_correlation_p_value",
    "effective_counts",
    "expected_stop",
    "f1_interval",
    "fair_floor",
    "fair_p_value",
    "family_p_values",
    "family_share_p_values",
    "fewest_images",
    "fleiss_interval",
    "gap_interval",
    "gap_p_value",
    "gap_sign_p_value",
    "group_distance_sequence",
    "group_distance_sequence_p_value",
    "group_entropy_interval",
    "group_gap_interval",
    "group_intervals",
    "group_ranking",
    "groups_differ_p_value",
    "growth_probabilities",
    "half_step",
    "half_step_interval",
    "holm",
    "independence_p_value",
    "inverted_p_value",
    "kappa_interval",
    "leaning",
    "leans",
    "look_level",
    "looks",
    "mean_band",
    "mean_interval",
    "mean_total_variation_interval",
    "mean_total_variation_p_value",
    "mean_wals_interval",
    "model_bias_interval",
    "model_bias_look",
    "model_bias_p_value",
    "model_images_needed",
    "object_bias_intervals",
    "object_bias_p_values",
    "one_sided",
    "paired_change_p_value",
    "paired_gap_interval",
    "paired_gap_p_value",
    "paired_model_bias_change",
    "paired_model_bias_scores",
    "paired_prompt_p_value",
    "paired_share_change",
    "parity_difference_interval",
    "parity_difference_p_value",
    "parity_shares",
    "prompt_bias_change",
    "prompt_bias_interval",
    "prompt_bias_p_value",
    "prompt_bias_p_values",
    "prompt_bias_sequence",
    "prompt_power",
    "rank_correlation_interval",
    "ranking",
    "settled_step",
    "share_by_prompt_interval",
    "share_confidence_sequence",
    "share_difference_interval",
    "share_difference_p_value",
    "share_interval",
    "share_p_value",
    "stereotype_interval",
    "stereotype_p_value",
    "stereotype_sequence",
    "stereotype_sequence_p_value",
    "stopped_share_interval",
    "storey",
    "total_variation_bounds",
    "total_variation_floor",
    "total_variation_interval",
    "total_variation_p_value",
    "vendi_at_level",
    "vendi_interval",
    "wals_at_level",
    "wals_change_interval",
    "wals_interval",
    "widest_gap",
    "within_p_value",
    "worst_case_bounds",
    "worst_case_counts",
]
