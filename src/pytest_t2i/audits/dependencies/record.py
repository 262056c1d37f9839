"""The record of dependencies in run.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.dependencies.groups import GROUPS
from pytest_t2i.audits.dependencies.measure import Dependencies
from pytest_t2i.audits.objects.counts import all_counted
from pytest_t2i.audits.objects.record import IndependenceRecord, ObjectRecord, independence, scores
from pytest_t2i.data import Count, Mask, PicturePath, Share, ShareInterval

SKEWED = 10
"""Largest number of one-sided objects that are kept of a group."""


@dataclass(frozen=True, slots=True)
class ExampleRecord:
    """A picture of a dependency group, with where its object and the attention lie."""

    name: str
    """The object, or the noun that no object shows."""
    prompt: str
    seed: int
    file: PicturePath | None
    region: Mask
    """Where the object lies; empty for a noun that no object shows."""
    noun: str
    """Noun of the prompt whose attention covers most of the object; "" without any."""
    attention: Mask
    """Where the attention to that noun is at least the threshold."""
    covered: Share
    """Share of the region that the attention covers (Wu eq. 7)."""


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """One dependency group over all triplets of a run (Wu section 6)."""

    group: str
    presence: ShareInterval | None
    """Share of the images with something of this group."""
    amount: Count
    """Number of different objects (in the group "hidden": of nouns)."""
    prevalent: Mapping[str, Count]
    """The most frequent objects, with the number of their occurrences."""
    skewed: tuple[ObjectRecord, ...]
    """The most one-sided objects."""
    independence: tuple[IndependenceRecord, ...]
    """Tests of all three variants together, and of each pair of them."""
    intersections: Mapping[str, Share]
    """Other group, or "nouns" -> share of this group's objects that are in it too; {} for an empty
    group."""
    example: ExampleRecord | None = None
    """The clearest picture of the group's most frequent object (Wu Figure 5)."""


@dataclass(frozen=True, slots=True)
class DependenciesRecord:
    """The objects of pictures by what brought them in, the prompt or the scene."""

    finder: str
    triplets: Count
    images: Count
    """Number of images whose groups are known."""
    left_out: Count
    """Images without a picture or without attention."""
    nouns: Count
    """Different nouns of the prompts."""
    groups: tuple[GroupRecord, ...]


def measured(context: AuditContext) -> DependenciesRecord | None:
    """Return the dependency groups of the run; None where no test asks for them."""
    groups = all_counted(Dependencies, context, "dependencies")
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
        scores(objects)[:SKEWED],
        independence(objects),
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
