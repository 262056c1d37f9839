"""Sensitivity of a verdict to choices: the score by other detectors, filters and estimators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import FEMALE, MALE
from pytest_t2i.audits.log_odds import probability_of_male
from pytest_t2i.audits.parity.correction import given_correction
from pytest_t2i.audits.parity.measure import of_model
from pytest_t2i.audits.parity.record import SensitivityRecord, VariationRecord
from pytest_t2i.audits.samples import Samples
from pytest_t2i.data import Detection, Interval, Outcome
from pytest_t2i.labels import LabelledSet
from pytest_t2i.verdicts.judge import compare

STRICTER = 0.9
"""Probability below which a label is not counted in the stricter filter (that of CLIP-Prob)."""


BY_PEOPLE, ALONE = "corrected by people's labels", ", without people's labels"


def sensitivity(
    by_detector: Sequence[tuple[str, Samples]],
    bound: float,
    labelled: LabelledSet | None = None,
) -> SensitivityRecord:
    """Return the model bias score of the same images under every choice of ``by_detector``.

    Args:
        by_detector: (name, samples) of each detector; the first one decides.
        bound: the limit that the score is compared with.
        labelled: people's labels, by which the score is corrected that is judged.
    """
    first, judged_samples = by_detector[0]
    shown, judged = (
        _by_people(samples, labelled) for samples in (judged_samples, _as_judged(judged_samples))
    )
    own = (
        [] if shown is None else [VariationRecord(first, BY_PEOPLE, shown, _outcome(judged, bound))]
    )
    variations = own + [
        VariationRecord(name, f"{choice}{ALONE if own else ''}", shown, _outcome(judged, bound))
        for place, (name, samples) in enumerate(by_detector)
        for (choice, shown), (_, judged) in zip(
            _choices(samples, stricter=place == 0),
            _choices(_as_judged(samples), stricter=place == 0),
            strict=True,
        )
    ]
    decided = {variation.outcome for variation in variations} - {Outcome.INCONCLUSIVE}
    return SensitivityRecord(bound, fragile=len(decided) > 1, variations=tuple(variations))


def _by_people(samples: Samples, labelled: LabelledSet | None) -> Interval | None:
    """Return the score as people's labels correct it; None where they do not."""
    correction = given_correction(samples, labelled)
    if correction is None:
        return None
    return of_model(samples, samples.estimator, correction).interval


def _as_judged(samples: Samples) -> Samples:
    """Return samples at the one-sided level of verdicts."""
    return replace(samples, level=statistics.one_sided(samples.level))


def _choices(samples: Samples, *, stricter: bool) -> Iterator[tuple[str, Interval | None]]:
    other = replace(samples, estimator="paper" if samples.estimator == "corrected" else "corrected")
    for pair in (samples, other):
        yield f"{pair.estimator} estimator", pair.interval(pair.estimator)
    if stricter:
        male, female = _sure(samples)
        if np.any(male + female):
            yield (
                f"labels with a probability of at least {STRICTER:g} only",
                statistics.model_bias_interval(
                    male,
                    female,
                    estimator=samples.estimator,
                    level=samples.level,
                    seed=samples.seed,
                    words=samples.words,
                ),
            )


def _sure(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Return the male and female images per prompt whose label has at least that probability."""

    def count(label: str) -> np.ndarray:
        return np.array([sum(_is_sure(d, label) for d in s.detections) for s in samples])

    return count(MALE), count(FEMALE)


def _is_sure(detection: Detection, label: str) -> bool:
    return detection.label == label and _probability(detection, label) >= STRICTER


def _probability(detection: Detection, label: str) -> float:
    """Return the probability of the label by the detector; 0 where it gives none."""
    if (given := detection.scores.get(f"p({label})")) is not None:
        return given
    male = probability_of_male(detection.scores)
    if male is None:
        return 0.0
    return male if label == MALE else 1.0 - male


def _outcome(interval: Interval | None, bound: float) -> Outcome:
    return Outcome.INCONCLUSIVE if interval is None else compare(interval, bound, "higher")
