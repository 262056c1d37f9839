"""What is found in the images of triplets, as the record of a run keeps it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TypeVar

import numpy as np

from pytest_t2i.audits.dependencies.groups import GROUPS
from pytest_t2i.audits.dependencies.measure import Dependencies, dependencies_of
from pytest_t2i.audits.objects.counts import VARIANTS, Counted
from pytest_t2i.audits.objects.measure import Objects, objects_of
from pytest_t2i.audits.widest import widest_of
from pytest_t2i.data import Mask
from pytest_t2i.metrics import object_independence
from pytest_t2i.runs.record import (
    DependenciesRecord,
    ExampleRecord,
    GroupRecord,
    IndependenceRecord,
    ObjectRecord,
    ObjectsRecord,
)
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.selection import SelectedTest
from pytest_t2i.runs.session import distinct

C = TypeVar("C", bound=Counted)
SKEWED = 10
"""Objects of a group that are kept."""


def _all(asking: Sequence[SelectedTest], of_test: Callable[[SelectedTest], C]) -> C | None:
    """All triplets that these tests ask for, each with its most images; None without any."""
    if not asking:
        return None
    pairs = ((three, test) for test in asking for three in test.selection.triplets)
    parts = [
        of_test(replace(test, selection=replace(test.selection, triplets=(three,))))
        for three, test in widest_of(pairs)
    ]
    expected = {word: why for part in parts for word, why in part.expected.items()}
    members = tuple(member for part in parts for member in part.members)
    return replace(parts[0], members=members, expected=expected)


def objects_record(results: Results) -> ObjectsRecord | None:
    """The objects of the run; None where no test asks for them."""
    tests = distinct(results.session.tests.values())
    objects = _all(
        [t for t in tests if "objects" in t.selection.fixtures], partial(objects_of, results)
    )
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


def dependencies_record(results: Results) -> DependenciesRecord | None:
    """The dependency groups of the run; None where no test asks for them."""
    tests = distinct(results.session.tests.values())
    groups = _all(
        [t for t in tests if "dependencies" in t.selection.fixtures],
        partial(dependencies_of, results),
    )
    if groups is None:
        return None
    asked = sum(3 * len(member.seeds) for member in groups.members)
    return DependenciesRecord(
        finder=groups.finder,
        triplets=len(groups.members),
        images=len(groups.images),
        left_out=asked - len(groups.images),
        nouns=len(groups.names["nouns"]),
        groups=tuple(_group(groups, group) for group in GROUPS),
    )


def _group(dependencies: Dependencies, name: str) -> GroupRecord:
    objects = dependencies.group(name)
    shares = {other: dependencies.intersection(name, other) for other in (*GROUPS, "nouns")}
    return GroupRecord(
        name,
        dependencies.presence(name),
        len(dependencies.names[name]),
        dict(dependencies.prevalent(name)),
        _scores(objects)[:SKEWED],
        _tests(objects),
        {other: share for other, share in shares.items() if share is not None},
        _example(dependencies, name),
    )


def _example(dependencies: Dependencies, group: str) -> ExampleRecord | None:
    example = dependencies.example(group)
    if example is None:
        return None
    prompt, seed, shown = example
    file = dependencies.observations.images(prompt, [seed])[0].file
    return ExampleRecord(
        shown.name,
        prompt.text,
        seed,
        str(file) if file else None,
        Mask.of(shown.region),
        shown.noun,
        Mask.of(shown.mask),
        shown.covered,
    )


def _scores(objects: Objects) -> tuple[ObjectRecord, ...]:
    return tuple(
        ObjectRecord(s.name, *s.occurrences, s.interval, s.p_value, s.reason)
        for s in objects.scores
    )


def _tests(objects: Objects) -> tuple[IndependenceRecord, ...]:
    """Of the triplet and of each pair."""
    chosen = (VARIANTS, *combinations(VARIANTS, 2))
    return tuple(_independence(objects, variants) for variants in chosen)


def _independence(objects: Objects, variants: tuple[str, ...]) -> IndependenceRecord:
    interval = objects.independence(*variants).interval
    if interval is None:
        return IndependenceRecord(variants, None, None, None)
    places = [VARIANTS.index(name) for name in variants]
    plain = object_independence(objects.frequent(places).counts.sum(axis=0))
    return IndependenceRecord(variants, interval, plain.statistic, plain.p_value)
