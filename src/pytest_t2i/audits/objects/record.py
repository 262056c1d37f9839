"""The record of objects in run.json."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.objects.counts import VARIANTS, all_counted
from pytest_t2i.audits.objects.measure import Objects
from pytest_t2i.data import Amount, Count, Interval, Number, Share, ShareInterval
from pytest_t2i.metrics import object_independence


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """One object in the images of triplets."""

    name: str
    neutral: Count
    """Occurrences in images of neutral prompts."""
    feminine: Count
    masculine: Count
    score: ShareInterval | None
    """Object bias score (Wu eq. 5); None where the object occurs with neither gender."""
    p_value: Share | None
    """Two-sided p-value against "the object comes with both genders alike", adjusted for all
    objects; None for an object that is expected to differ."""
    expected: str = ""
    """Why the object is expected to depend on gender; "" where it is not."""


@dataclass(frozen=True, slots=True)
class IndependenceRecord:
    """The test of whether objects depend on the variant (Wu section 5.2)."""

    variants: tuple[str, ...]
    p_value: ShareInterval | None
    """p-value by permutation within triplets; None where no test is possible."""
    chi_square: Amount | None
    """Pearson's chi-square statistic."""
    chi_square_p_value: Share | None
    """Pearson's p-value, which assumes independent occurrences."""


@dataclass(frozen=True, slots=True)
class ObjectsRecord:
    """The objects in the images of all triplets of a run."""

    finder: str
    triplets: Count
    images: Count
    least: Count
    """Occurrences with feminine and masculine prompts together that an object had to reach."""
    rare: Count
    """Number of objects with fewer occurrences."""
    objects: tuple[ObjectRecord, ...]
    """The frequent objects, the most one-sided first."""
    independence: tuple[IndependenceRecord, ...]
    """Tests of all three variants together, and of each pair of them."""
    to_feminine: Number | None
    """Co-occurrence similarity of neutral and feminine images (Wu eq. 4)."""
    to_masculine: Number | None
    gap: Interval | None
    """``to_masculine`` minus ``to_feminine``; above 0 leans masculine."""


def measured(context: AuditContext) -> ObjectsRecord | None:
    """Return the objects of the run; None where no test asks for them."""
    objects = all_counted(Objects, context, "objects")
    if objects is None:
        return None
    rows = [pair for pair in objects.cooccurrences if len(pair)]
    means = np.mean([pair.mean(axis=0) for pair in rows], axis=0) if rows else (None, None)
    return ObjectsRecord(
        finder=objects.finder,
        triplets=len(objects.members),
        images=sum(3 * len(member.seeds) for member in objects.members),
        least=objects.least,
        rare=objects.rare,
        objects=scores(objects),
        independence=independence(objects),
        to_feminine=None if means[0] is None else float(means[0]),
        to_masculine=None if means[1] is None else float(means[1]),
        gap=objects.cooccurrence_gap.interval,
    )


def scores(objects: Objects) -> tuple[ObjectRecord, ...]:
    """Return the records of all frequent objects, the most one-sided first."""
    return tuple(
        ObjectRecord(s.name, *s.occurrences, s.interval, s.p_value, s.reason)
        for s in objects.scores
    )


def independence(objects: Objects) -> tuple[IndependenceRecord, ...]:
    """Return the tests of all three variants together, and of each pair of them."""
    chosen = (VARIANTS, *combinations(VARIANTS, 2))
    return tuple(_independence(objects, variants) for variants in chosen)


def _independence(objects: Objects, variants: tuple[str, ...]) -> IndependenceRecord:
    interval = objects.independence(*variants).interval
    if interval is None:
        return IndependenceRecord(variants, None, None, None)
    places = [VARIANTS.index(name) for name in variants]
    plain = object_independence(objects.frequent(places).counts.sum(axis=0))
    return IndependenceRecord(variants, interval, plain.statistic, plain.p_value)
