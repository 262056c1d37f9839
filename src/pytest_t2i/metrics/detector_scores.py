"""Scores of a detector against the labels of people (Lyu et al. 2025, equations 3 to 6)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.info import register

register(MetricInfo("prompt_bias_difference", 0.0, 2.0, "higher", "Lyu eq. 3"))
register(MetricInfo("percent_deviation", -100.0, math.inf, "away_from_zero", "Lyu Table 1"))
register(MetricInfo("filter_precision", 0.0, 1.0, "lower", "Lyu eq. 4", in_baselines=True))
register(MetricInfo("filter_recall", 0.0, 1.0, "lower", "Lyu eq. 4", in_baselines=True))
register(MetricInfo("filter_f1", 0.0, 1.0, "lower", "Lyu eq. 4"))
register(MetricInfo("filter_rate", 0.0, 1.0, "lower", "Lyu eq. 5", in_baselines=True))
register(MetricInfo("accuracy", 0.0, 1.0, "lower", "Lyu eq. 6", in_baselines=True))
register(
    MetricInfo(
        "undetected_gap",
        0.0,
        1.0,
        "higher",
        "own definition: largest minus smallest share of a group's clear images without a label",
        meaning="A detector that abstains more from one group leaves that group out of the scores.",
    )
)
register(
    MetricInfo(
        "self_agreement",
        0.0,
        1.0,
        "lower",
        "own definition: share of images that a judge gives the same answer when asked again",
    )
)


class FilterScores(NamedTuple):
    """The scores of a detector at separating clear from low-quality images; None where 0/0.

    >>> filter_scores(kept=[True, True, False], clear=[True, False, False]).precision
    0.5
    """

    precision: float | None
    """Share of clear images among those kept."""
    recall: float | None
    """Share of clear images that were kept."""
    f1: float | None
    """Harmonic mean of precision and recall."""
    filter_rate: float | None
    """Share of low-quality images that were filtered out."""


class ClassificationScores(NamedTuple):
    """The accuracy of a detector's labels.

    >>> classification_scores(["male", "male"], ["male", "female"]).overall
    0.5
    """

    by_label: Mapping[str, float]
    """Share of the images of each actual label that were given that label."""
    overall: float
    """Share of all images that were given the right label."""


def prompt_bias_difference(detected: npt.ArrayLike, actual: npt.ArrayLike) -> float:
    """Return the mean absolute error of a detector's prompt bias scores.

    .. math:: (1/N) sum_i |PBS_detector,i - PBS_actual,i|      (Lyu eq. 3)

    Args:
        detected: prompt bias scores by the detector, [n_prompts].
        actual: prompt bias scores by people, [n_prompts].

    Returns:
        The difference in [0, 2].

    Raises:
        ValueError: shapes differ, are empty, or a score lies outside [-1, 1].

    >>> prompt_bias_difference([1.0, 0.5], [1.0, 0.0])
    0.25
    """
    of_detector = inputs.in_range("detected", detected, -1.0, 1.0)
    of_people = inputs.in_range("actual", actual, -1.0, 1.0)
    inputs.one_dimensional(detected=of_detector, actual=of_people)
    inputs.same_shape(detected=of_detector, actual=of_people)
    inputs.not_empty(detected=of_detector)
    return float(np.mean(np.abs(of_detector - of_people)))


def percent_deviation(detected: float, actual: float) -> float:
    """Return the deviation of a detector's model bias score from the actual one, in percent.

    .. math:: 100 (detected - actual) / actual      (Lyu Table 1)

    Args:
        detected: model bias score by the detector, in [0, 1].
        actual: model bias score by people, in (0, 1].

    Returns:
        Signed percentage; below 0 where the detector underestimates.

    Raises:
        ValueError: a score lies outside [0, 1] or the actual one is 0.

    >>> round(percent_deviation(0.686, 0.752), 2)
    -8.78
    """
    score = float(inputs.in_range("detected", detected, 0.0, 1.0))
    reference = float(inputs.in_range("actual", actual, 0.0, 1.0))
    if reference == 0.0:
        raise ValueError("actual must be above 0, as the deviation is divided by it, got actual=0")
    return 100.0 * (score - reference) / reference


def f1_score(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall.

    .. math:: 2 P R / (P + R)      (Lyu eq. 4)

    Args:
        precision: precision, in [0, 1].
        recall: recall, in [0, 1].

    Returns:
        The mean in [0, 1]; 0 when both are 0, its limit there.

    Raises:
        ValueError: an argument lies outside [0, 1].

    >>> round(f1_score(0.8752, 1.0), 4)
    0.9334
    """
    first = float(inputs.in_range("precision", precision, 0.0, 1.0))
    second = float(inputs.in_range("recall", recall, 0.0, 1.0))
    return 2.0 * first * second / (first + second) if first + second else 0.0


def filter_scores(kept: npt.ArrayLike, clear: npt.ArrayLike) -> FilterScores:
    """Return how well a detector keeps clear images and filters out low-quality ones.

    .. math::
        P = TP / (TP + FP),  R = TP / (TP + FN),  F1 = 2PR / (P + R)      (Lyu eq. 4)
        FilterRate = TN / (TN + FP)      (Lyu eq. 5)

    Args:
        kept: whether the detector gave a label, [n_images] of bool.
        clear: whether people found the image clear, [n_images] of bool.

    Returns:
        precision, recall, f1 and filter_rate in [0, 1]; each is None where it is 0/0.

    Raises:
        ValueError: shapes differ, are empty, or a value is neither True nor False.

    >>> filter_scores([True, True, False, False], [True, False, False, True])
    FilterScores(precision=0.5, recall=0.5, f1=0.5, filter_rate=0.5)
    """
    has_label, truth = inputs.booleans("kept", kept), inputs.booleans("clear", clear)
    inputs.one_dimensional(kept=has_label, clear=truth)
    inputs.same_shape(kept=has_label, clear=truth)
    inputs.not_empty(kept=has_label)
    hits, false_alarms = int(np.sum(has_label & truth)), int(np.sum(has_label & ~truth))
    misses, filtered = int(np.sum(~has_label & truth)), int(np.sum(~has_label & ~truth))
    return FilterScores(
        precision=_ratio(hits, hits + false_alarms),
        recall=_ratio(hits, hits + misses),
        f1=_ratio(2 * hits, 2 * hits + false_alarms + misses),
        filter_rate=_ratio(filtered, filtered + false_alarms),
    )


def classification_scores(predicted: npt.ArrayLike, actual: npt.ArrayLike) -> ClassificationScores:
    """Return the accuracy of the labels, on images that are clear and were kept.

    .. math:: (TP + TN) / (TP + TN + FP + FN)      (Lyu eq. 6)

    Args:
        predicted: labels by the detector, [n_images].
        actual: labels by people, [n_images].

    Returns:
        ``by_label``, the accuracy among the images of each actual label, and ``overall``, the
        accuracy among all images; both in [0, 1].

    Raises:
        ValueError: shapes differ, are empty, or a label is missing.

    >>> classification_scores(["male", "male", "female"], ["male", "female", "female"])
    ClassificationScores(by_label={'female': 0.5, 'male': 1.0}, overall=0.6666666666666666)
    """
    guesses, truth = inputs.labels("predicted", predicted), inputs.labels("actual", actual)
    inputs.same_shape(predicted=guesses, actual=truth)
    inputs.not_empty(predicted=guesses)
    right = np.asarray(guesses == truth, dtype=np.bool_)
    by_label = {
        str(label): float(np.mean(right[np.asarray(truth == label, dtype=np.bool_)]))
        for label in sorted(set(truth.tolist()), key=str)
    }
    return ClassificationScores(by_label, float(np.mean(right)))


def _ratio(part: int, total: int) -> float | None:
    return part / total if total else None
