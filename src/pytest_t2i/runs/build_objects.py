"""What is found in the images of triplets, as the record of a run keeps it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from pytest_t2i.audits.object_counts import VARIANTS
from pytest_t2i.audits.objects import Objects
from pytest_t2i.metrics import object_independence
from pytest_t2i.runs.build_scores import widest_of
from pytest_t2i.runs.record import IndependenceRecord, ObjectRecord, ObjectsRecord
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.session import distinct


def all_objects(results: Results) -> Objects | None:
    """The objects of all triplets that tests ask for, each with its most images; None without."""
    asking = [t for t in distinct(results.session.tests.values()) if t.selection.finds]
    if not asking:
        return None
    pairs = ((three, test) for test in asking for three in test.selection.triplets)
    parts = [
        results.objects(replace(test, selection=replace(test.selection, triplets=(three,))))
        for three, test in widest_of(pairs)
    ]
    expected = {word: why for part in parts for word, why in part.expected.items()}
    members = tuple(member for part in parts for member in part.members)
    return replace(parts[0], members=members, expected=expected)


def objects_record(results: Results) -> ObjectsRecord | None:
    """The objects of the run; None where no test asks for them."""
    objects = all_objects(results)
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
        objects=tuple(
            ObjectRecord(s.name, *s.occurrences, s.interval, s.p_value, s.reason)
            for s in objects.scores
        ),
        independence=tuple(
            _independence(objects, variants) for variants in (VARIANTS, *combinations(VARIANTS, 2))
        ),
        to_feminine=None if means[0] is None else float(means[0]),
        to_masculine=None if means[1] is None else float(means[1]),
        gap=objects.cooccurrence_gap.interval,
    )


def _independence(objects: Objects, variants: tuple[str, ...]) -> IndependenceRecord:
    interval = objects.independence(*variants).interval
    if interval is None:
        return IndependenceRecord(variants, None, None, None)
    places = [VARIANTS.index(name) for name in variants]
    plain = object_independence(objects.frequent.counts[:, places].sum(axis=0))
    return IndependenceRecord(variants, interval, plain.statistic, plain.p_value)
