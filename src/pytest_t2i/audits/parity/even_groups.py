"""Distance of a detector's groups from even shares: parity for any number of groups.

The distance is half the sum of |share - 1 / groups|, from 0 (even) to 1 - 1 / groups; for male and
female it is half the bias score. Limits, families, a recorded run and people's labels apply to it
as to bias scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from pytest_t2i.audits import distance
from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts, Siblings
from pytest_t2i.audits.evidence import of_either
from pytest_t2i.audits.parity import groups_after_early_stopping as stopped
from pytest_t2i.audits.parity.group_change import model_change, prompt_change
from pytest_t2i.audits.parity.group_correction import GroupCorrection
from pytest_t2i.audits.unsettled_labels import covering_unsettled
from pytest_t2i.data import Evidence, Interval
from pytest_t2i.metrics import INFO
from pytest_t2i.prompts.references import uniform
from pytest_t2i.statistics.distances import (
    mean_total_variation_interval,
    mean_total_variation_p_value,
)
from pytest_t2i.verdicts.measurement import Measurement

METRIC = INFO["group_distance"]
EVEN = uniform()
NO_RECORD = "a baseline keeps the labels of the deciding detector alone"


def of_prompt(sample: DetectedPrompt, siblings: Siblings[DetectedPrompt]) -> Measurement:
    """Measure the distance of the shares of a prompt's groups from even ones."""
    made = distance.of_prompt(sample, siblings, EVEN, METRIC)
    if sample.stopping is not None:
        made = replace(
            made,
            interval=stopped.interval_of(sample),
            family=siblings.family("group_distance at any look", stopped.family),
        )
    return replace(
        made,
        remarks=made.remarks[:1],
        change=lambda baseline, margin, level: prompt_change(
            sample, siblings, baseline, margin, level
        ),
    )


def of_model(
    samples: DetectedPrompts, corrected: GroupCorrection | None = None, few_labels: str = ""
) -> Measurement:
    """Measure the prompts' mean distance from even shares, corrected for few images.

    Where people labelled some of the images with groups, their labels correct the detector's;
    ``few_labels`` says why they cannot.
    """
    if few_labels:
        return Measurement(METRIC, "model", None, absent=few_labels, is_of_model=True)
    made = distance.of_model(samples, EVEN, METRIC)
    if samples.sequential:
        made = replace(made, evidence=partial(stopped.evidence_of_model, samples))
    if corrected is not None:
        return _corrected(samples, corrected)
    return replace(
        made,
        change=lambda baseline, margin, level: model_change(samples, baseline, margin, level),
    )


def interval_of_model(samples: DetectedPrompts) -> Interval | None:
    """Return the mean distance from even shares with its interval; None without a label."""
    return distance.of_model(samples, EVEN, METRIC).interval


def _corrected(samples: DetectedPrompts, corrected: GroupCorrection) -> Measurement:
    made = _by_labels(samples, corrected)
    others = [_by_labels(samples, one) for one in corrected.fillings]
    return covering_unsettled(made, others, corrected.labelled)


def _by_labels(samples: DetectedPrompts, corrected: GroupCorrection) -> Measurement:
    counts = corrected.counts.counts
    even = np.full(counts.shape[1], 1.0 / counts.shape[1])
    interval = mean_total_variation_interval(
        counts, even, level=samples.level, seed=samples.seed, words=samples.words
    )
    plain = corrected.by_detector_alone
    beside = "no label of these groups" if plain is None else f"{plain:.3f}"
    return Measurement(
        metric=METRIC,
        subject="model",
        interval=replace(interval, method=f"{interval.method} + ppi++"),
        images=samples.images if samples.words == "fixed" else None,
        evidence=partial(_evidence, samples, counts, even),
        remarks=(f"{corrected.describe()}; uncorrected: {beside}",),
        is_of_model=True,
    )


def _evidence(
    samples: DetectedPrompts,
    counts: np.ndarray,
    even: Sequence[float] | np.ndarray,
    bound: float,
    level: float,
) -> Evidence:
    del level
    p_value = mean_total_variation_p_value
    return of_either(partial(p_value, counts, even, bound, words=samples.words, seed=samples.seed))
