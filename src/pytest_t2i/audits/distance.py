"""Distance of the label shares of a prompt's or a model's images from the shares expected of them.

The detector's labels are the groups, in any number. The audit ``references`` measures the distance
from a given distribution, ``parity`` the distance from even shares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts, Siblings
from pytest_t2i.audits.evidence import ALTERNATIVES, SIDES, Beyond, despite_equal_pictures
from pytest_t2i.data import Bounds, Evidence, Interval, MetricInfo
from pytest_t2i.metrics import INFO, total_variation_distance
from pytest_t2i.prompts import Reference
from pytest_t2i.statistics.distances import (
    mean_total_variation_interval,
    mean_total_variation_p_value,
    total_variation_bounds,
    total_variation_floor,
    total_variation_interval,
    total_variation_p_value,
)
from pytest_t2i.statistics.undetected import worst_case_labels
from pytest_t2i.verdicts.measurement import Family, Measurement

TOTAL_VARIATION = INFO["total_variation_distance"]
FURTHEST = 5
"""Largest number of prompts named in a failure text."""
Counted = tuple[tuple[str, int, float], ...]
"""Per label: the label, the number of images with it, the reference's share of it."""


def of_prompt(
    sample: DetectedPrompt,
    siblings: Siblings[DetectedPrompt],
    reference: Reference,
    metric: MetricInfo = TOTAL_VARIATION,
) -> Measurement:
    """Measure how far the labels of a prompt's images are from the reference."""
    counted = _counted(sample, reference)
    unknown = 0 if sample.has_no_verdict else sample.undetected.total()
    return Measurement(
        metric=metric,
        subject=sample.prompt.id,
        interval=_interval(counted, sample.level),
        images=sum(count for _, count, _ in counted),
        family=siblings.family((metric.name, id(reference)), partial(_family, reference)),
        place=siblings.places[sample.prompt.id],
        absent=f"none of {len(sample.seeds)} images has a label: {dict(sample.undetected)}",
        remarks=(f"shares: {_shares(counted)}", f"expected by: {reference.source}"),
        worst_case=_worst_case(counted, unknown) if unknown else None,
    )


def _family(reference: Reference, siblings: Sequence[DetectedPrompt]) -> Family:
    return Family(
        tuple(_interval(_counted(sample, reference), sample.level) for sample in siblings),
        lambda bound, _: despite_equal_pictures(
            siblings, lambda counted: _evidence_of(counted, reference, bound)
        ),
    )


def _evidence_of(
    samples: Sequence[DetectedPrompt], reference: Reference, bound: float
) -> list[Evidence]:
    members = [_counted(sample, reference) for sample in samples]
    unknown = [0 if sample.has_no_verdict else sample.unknown for sample in samples]
    return _family_evidence(members, unknown, bound)


def _family_evidence(
    members: Sequence[Counted], unknown: Sequence[int], bound: float
) -> list[Evidence]:
    """Return evidence that holds in the worst case, and that of the labelled images alone."""
    indices = [k for k, counted in enumerate(members) if any(count for _, count, _ in counted)]
    worst = {side: [_worst_counts(members[k], unknown[k], side) for k in indices] for side in SIDES}
    beyond = _beyond_adjusted(worst["beyond"], bound)
    alone = _beyond_adjusted([members[k] for k in indices], bound)
    evidence = [Evidence(None, None)] * len(members)
    for place, k in enumerate(indices):
        within = _within(worst["within"][place], bound)
        labelled = (alone[place], _within(members[k], bound)) if unknown[k] else None
        evidence[k] = Evidence(beyond[place], within, labelled)
    return evidence


def _beyond_adjusted(members: Sequence[Counted], bound: float) -> list[float]:
    p_values = [_beyond(counted, bound) for counted in members]
    return list(map(float, statistics.benjamini_hochberg(p_values)))


def _worst_counts(counted: Counted, unknown: int, side: Beyond) -> Counted:
    """Return the counts with the undetected images labelled so as to weaken the side most."""
    if not unknown:
        return counted
    labels, counts, shares = zip(*counted, strict=True)
    filled = worst_case_labels(counts, unknown, shares, side)
    return tuple(zip(labels, map(int, filled), shares, strict=True))


def of_model(
    samples: DetectedPrompts, reference: Reference, metric: MetricInfo = TOTAL_VARIATION
) -> Measurement:
    """Measure the mean over prompts of how far their labels are from the reference."""
    members = [_counted(sample, reference) for sample in samples]
    counts, shares = _counts_and_shares_of(members)
    images = sum(len(sample.seeds) for sample in samples)
    remarks = [f"expected by: {reference.source}"]
    if counts.sum():
        floor = total_variation_floor(counts, shares)
        remarks = [
            f"not corrected for few images: {_mean_distance(members):.3f} (a model that follows "
            f"the reference shows {floor:.3f})",
            f"furthest: {_furthest(samples, members)}",
            *remarks,
        ]
    evidence, despite = samples.despite_repeats(
        partial(_model_evidence, samples, reference),
        int(np.count_nonzero(counts.sum(axis=1))),
        metric,
    )
    return Measurement(
        metric=metric,
        subject="model",
        is_of_model=True,
        interval=_mean_interval(samples, counts, shares),
        images=images if samples.words == "fixed" else None,
        evidence=evidence,
        despite_repeats=despite,
        absent=f"none of {images} images has a label",
        remarks=tuple(remarks),
        worst_case=_model_worst_case(samples, members),
    )


def _counted(sample: DetectedPrompt, reference: Reference) -> Counted:
    counts = sample.judged_groups
    shares = reference.of(sample.prompt, tuple(counts))
    return tuple((label, count, shares[label]) for label, count in counts.items())


def _counts_and_shares(counted: Counted) -> tuple[dict[str, int], dict[str, float]]:
    return {g: count for g, count, _ in counted}, {g: share for g, _, share in counted}


@lru_cache(maxsize=4096)
def _interval(counted: Counted, level: float) -> Interval | None:
    counts, shares = _counts_and_shares(counted)
    if not any(counts.values()):
        return None
    return total_variation_interval(counts, shares, level)


@lru_cache(maxsize=4096)
def _beyond(counted: Counted, bound: float) -> float:
    return total_variation_p_value(*_counts_and_shares(counted), bound)


@lru_cache(maxsize=4096)
def _within(counted: Counted, bound: float) -> float:
    counts, shares = _counts_and_shares(counted)
    return statistics.inverted_p_value(
        lambda level: total_variation_interval(counts, shares, level),
        bound,
        alternative="less",
    )


def _worst_case(counted: Counted, unknown: int) -> Bounds:
    counts, shares = _counts_and_shares(counted)
    return total_variation_bounds(counts, unknown, shares)


def _model_worst_case(samples: DetectedPrompts, members: list[Counted]) -> Bounds | None:
    unknown = [0 if s.has_no_verdict else s.undetected.total() for s in samples]
    if not any(unknown):
        return None
    bounds = [_worst_case(member, u) for member, u in zip(members, unknown, strict=True)]
    images = sum(len(entry.seeds) for entry in samples)
    return Bounds(
        float(np.mean([entry.low for entry in bounds])),
        float(np.mean([entry.high for entry in bounds])),
        sum(unknown) / images,
    )


def _mean_interval(
    samples: DetectedPrompts, counts: np.ndarray, shares: np.ndarray
) -> Interval | None:
    if not counts.sum():
        return None
    return mean_total_variation_interval(
        counts, shares, level=samples.level, seed=samples.seed, words=samples.words
    )


def _model_evidence(
    samples: DetectedPrompts, reference: Reference, bound: float, level: float
) -> Evidence:
    del level
    (evidence,) = despite_equal_pictures(
        [samples], lambda ways: [_evidence_of_counts(s, reference, bound) for s in ways]
    )
    return evidence


def _counts_and_shares_of(members: Sequence[Counted]) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts and the reference's shares, [prompts, labels] each."""
    counts = np.array([[count for _, count, _ in member] for member in members])
    return counts, np.array([[share for _, _, share in member] for member in members])


def _evidence_of_counts(samples: DetectedPrompts, reference: Reference, bound: float) -> Evidence:
    """Return evidence that holds in the worst case, and that of the labelled images alone."""
    counts, shares = _counts_and_shares_of([_counted(sample, reference) for sample in samples])

    def p_values(beyond: np.ndarray, within: np.ndarray) -> tuple[float, float]:
        return tuple(  # type: ignore[return-value]
            mean_total_variation_p_value(
                of_side,
                shares,
                bound,
                alternative=alternative,
                words=samples.words,
                seed=samples.seed,
            )
            for of_side, alternative in zip((beyond, within), ALTERNATIVES, strict=True)
        )

    if not samples.unknown.any():
        return Evidence(*p_values(counts, counts))
    rows = list(zip(counts, samples.unknown.tolist(), shares, strict=True))
    worst = (
        np.array([worst_case_labels(row, n, share, side) for row, n, share in rows])
        for side in SIDES
    )
    return Evidence(*p_values(*worst), labelled=p_values(counts, counts))


def _mean_distance(members: list[Counted]) -> float:
    return float(np.mean([d for member in members if (d := _distance(member)) is not None]))


def _distance(counted: Counted) -> float | None:
    counts, shares = _counts_and_shares(counted)
    return total_variation_distance(counts, shares) if any(counts.values()) else None


def _furthest(samples: DetectedPrompts, members: list[Counted]) -> str:
    distances = [
        (distance, sample.prompt.name, _shares(counted))
        for sample, counted in zip(samples, members, strict=True)
        if (distance := _distance(counted)) is not None
    ]
    distances.sort(key=lambda entry: -entry[0])
    return "; ".join(f"{concept}: {shares}" for _, concept, shares in distances[:FURTHEST])


def _shares(counted: Counted) -> str:
    """Return shares in words: ``male 80 % (12 % expected), female 20 % (88 % expected)``."""
    counts: Mapping[str, int] = _counts_and_shares(counted)[0]
    images = sum(counts.values())
    if not images:
        return "none"
    return ", ".join(
        f"{label} {100 * count / images:.0f} % ({100 * share:.3g} % expected)"
        for label, count, share in counted
    )
