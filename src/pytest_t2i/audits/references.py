"""Distance of a prompt's images, and of a model's, from a reference distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts, Siblings
from pytest_t2i.audits.parity import model_interval
from pytest_t2i.data import Bounds, Interval
from pytest_t2i.metrics import INFO, total_variation_distance
from pytest_t2i.prompts import Reference
from pytest_t2i.verdicts.family import Family
from pytest_t2i.verdicts.measurement import Measurement

METRIC = INFO["total_variation_distance"]
FURTHEST = 5
"""Prompts named in a failure text."""
Counted = tuple[tuple[str, int, float], ...]
"""Label, images with it, the reference's share of it."""


def of_prompt(
    sample: DetectedPrompt, siblings: Siblings[DetectedPrompt], reference: Reference
) -> Measurement:
    """How far a prompt's labels are from the reference."""
    counted = _counted(sample, reference)
    unknown = sample.undetected.total()
    return Measurement(
        metric=METRIC,
        subject=sample.prompt.id,
        interval=_interval(counted, sample.level),
        images=sum(count for _, count, _ in counted),
        family=siblings.family((METRIC.name, id(reference)), partial(_family, reference)),
        place=siblings.places[sample.prompt.id],
        absent=f"none of {len(sample.seeds)} images has a label: {dict(sample.undetected)}",
        remarks=(f"shares: {_shares(counted)}", f"expected by: {reference.source}"),
        worst_case=_worst_case(counted, unknown) if unknown else None,
    )


def _family(reference: Reference, siblings: Sequence[DetectedPrompt]) -> Family:
    members = [_counted(sample, reference) for sample in siblings]
    return Family(
        tuple(
            _interval(counted, sample.level)
            for counted, sample in zip(members, siblings, strict=True)
        ),
        lambda bound: [_evidence(counted, bound) for counted in members],
    )


def of_model(samples: DetectedPrompts, reference: Reference) -> Measurement:
    """Mean over prompts of how far their labels are from the reference."""
    members = [_counted(one, reference) for one in samples]
    counts = np.array([[count for _, count, _ in one] for one in members])
    shares = np.array([[share for _, _, share in one] for one in members])
    images = sum(len(one.seeds) for one in samples)
    remarks = [f"expected by: {reference.source}"]
    if counts.sum():
        floor = statistics.total_variation_floor(counts, shares)
        remarks = [
            f"not corrected for few images: {_plug_in(members):.3f} (a model that follows the "
            f"reference shows {floor:.3f})",
            f"furthest: {_furthest(samples, members)}",
            *remarks,
        ]
    return Measurement(
        metric=METRIC,
        subject="model",
        interval=_of_all(samples, counts, shares),
        images=images,
        absent=f"none of {images} images has a label",
        remarks=tuple(remarks),
        worst_case=_worst_case_of_all(samples, members),
    )


def _counted(sample: DetectedPrompt, reference: Reference) -> Counted:
    counts = sample.groups
    shares = reference.of(sample.prompt, tuple(counts))
    return tuple((label, count, shares[label]) for label, count in counts.items())


def _maps(counted: Counted) -> tuple[dict[str, int], dict[str, float]]:
    return {g: count for g, count, _ in counted}, {g: share for g, _, share in counted}


@lru_cache(maxsize=4096)
def _interval(counted: Counted, level: float) -> Interval | None:
    counts, shares = _maps(counted)
    if not any(counts.values()):
        return None
    return statistics.total_variation_interval(counts, shares, level)


@lru_cache(maxsize=4096)
def _evidence(counted: Counted, bound: float) -> float | None:
    counts, shares = _maps(counted)
    if not any(counts.values()):
        return None
    return statistics.total_variation_p_value(counts, shares, bound)


def _worst_case(counted: Counted, unknown: int) -> Bounds:
    counts, shares = _maps(counted)
    return statistics.total_variation_bounds(counts, unknown, shares)


def _worst_case_of_all(samples: DetectedPrompts, members: list[Counted]) -> Bounds | None:
    unknown = [sample.undetected.total() for sample in samples]
    if not any(unknown):
        return None
    known = [_worst_case(one, u) for one, u in zip(members, unknown, strict=True)]
    images = sum(len(one.seeds) for one in samples)
    return Bounds(
        float(np.mean([one.low for one in known])),
        float(np.mean([one.high for one in known])),
        sum(unknown) / images,
    )


def _of_all(samples: DetectedPrompts, counts: np.ndarray, shares: np.ndarray) -> Interval | None:
    if not counts.sum():
        return None
    if set(samples.members[0].groups) == {"male", "female"} and np.all(shares == 0.5):  # noqa: PLR2004 - even
        return _half(model_interval(samples, "corrected"))
    return statistics.mean_total_variation_interval(
        counts, shares, level=samples.level, seed=samples.seed
    )


def _half(score: Interval | None) -> Interval | None:
    """With an even reference the distance is half the model bias score, and so is its interval."""
    if score is None:
        return None
    return Interval(
        score.estimate / 2, score.low / 2, score.high / 2, score.level, score.method, score.n
    )


def _plug_in(members: list[Counted]) -> float:
    return float(np.mean([d for one in members if (d := _distance(one)) is not None]))


def _distance(counted: Counted) -> float | None:
    counts, shares = _maps(counted)
    return total_variation_distance(counts, shares) if any(counts.values()) else None


def _furthest(samples: DetectedPrompts, members: list[Counted]) -> str:
    known = [
        (distance, one.prompt.concept, _shares(counted))
        for one, counted in zip(samples, members, strict=True)
        if (distance := _distance(counted)) is not None
    ]
    known.sort(key=lambda found: -found[0])
    return "; ".join(f"{concept}: {shares}" for _, concept, shares in known[:FURTHEST])


def _shares(counted: Counted) -> str:
    """``male 80 % (12 % expected), female 20 % (88 % expected)``."""
    counts: Mapping[str, int] = _maps(counted)[0]
    images = sum(counts.values())
    if not images:
        return "none"
    return ", ".join(
        f"{label} {100 * count / images:.0f} % ({100 * share:.3g} % expected)"
        for label, count, share in counted
    )
