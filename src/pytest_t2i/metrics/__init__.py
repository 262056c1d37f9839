"""Metrics: pure functions from array-likes to numbers. No torch, no I/O, no pytest.

``INFO`` holds the bounds, the worse direction and the source of every metric.

>>> from pytest_t2i import metrics
>>> metrics.prompt_bias_score(male=15, female=5)
0.5
>>> metrics.INFO["prompt_bias_score"].worse
'away_from_zero'
"""

from __future__ import annotations

from pytest_t2i.metrics.agreement import cohen_kappa, fleiss_kappa, shares
from pytest_t2i.metrics.attribute_direction import supervised_direction
from pytest_t2i.metrics.bias import model_bias_score, prompt_bias_score
from pytest_t2i.metrics.detector_scores import (
    ClassificationScores,
    FilterScores,
    classification_scores,
    f1_score,
    filter_scores,
    percent_deviation,
    prompt_bias_difference,
)
from pytest_t2i.metrics.distance_correlation import (
    corrected_distance_correlation,
    distance_correlation,
)
from pytest_t2i.metrics.distances import frechet_distance, kernel_distance
from pytest_t2i.metrics.emergence import centred_spi, spi
from pytest_t2i.metrics.groups import (
    demographic_parity_difference,
    total_variation_distance,
)
from pytest_t2i.metrics.images import diff_pix, split_product, ssim
from pytest_t2i.metrics.info import INFO
from pytest_t2i.metrics.mitigation import (
    bias_distance,
    bias_mitigation_score,
    consistency,
    mean_absolute_gap,
    smoothness,
)
from pytest_t2i.metrics.objects import (
    Independence,
    cooccurrence_similarity,
    coverage,
    object_bias_score,
    object_independence,
)
from pytest_t2i.metrics.refusals import refusal_gap
from pytest_t2i.metrics.retrieval import (
    average_precisions,
    mean_average_precision,
    retrieval_precision,
    retrieval_precisions,
)
from pytest_t2i.metrics.similarity import similarities, similarity, similarity_gap, similarity_gaps
from pytest_t2i.metrics.stereotypes import attribute_presence, stereotype_score
from pytest_t2i.metrics.variety import wals

__all__ = [
    "INFO",
    "ClassificationScores",
    "FilterScores",
    "Independence",
    "attribute_presence",
    "average_precisions",
    "bias_distance",
    "bias_mitigation_score",
    "centred_spi",
    "classification_scores",
    "cohen_kappa",
    "consistency",
    "cooccurrence_similarity",
    "corrected_distance_correlation",
    "coverage",
    "demographic_parity_difference",
    "diff_pix",
    "distance_correlation",
    "f1_score",
    "filter_scores",
    "fleiss_kappa",
    "frechet_distance",
    "kernel_distance",
    "mean_absolute_gap",
    "mean_average_precision",
    "model_bias_score",
    "object_bias_score",
    "object_independence",
    "percent_deviation",
    "prompt_bias_difference",
    "prompt_bias_score",
    "refusal_gap",
    "retrieval_precision",
    "retrieval_precisions",
    "shares",
    "similarities",
    "similarity",
    "similarity_gap",
    "similarity_gaps",
    "smoothness",
    "spi",
    "split_product",
    "ssim",
    "stereotype_score",
    "supervised_direction",
    "total_variation_distance",
    "wals",
]
