"""What dependencies keep in run.json."""

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
"""Objects of a group that are kept."""


@dataclass(frozen=True, slots=True)
class ExampleRecord:
    """A picture of a dependency group, with where its object and the attention lie."""

    name: str
    """The object, or the noun that shows none."""
    prompt: str
    seed: int
    file: PicturePath | None
    region: Mask
    """Where the object lies; nowhere for a noun that shows none."""
    noun: str
    """Noun of the prompt whose attention covers most of the object; "" without any."""
    attention: Mask
    """Where that noun was looked at."""
    covered: Share
    """Share of the region that the attention covers (Wu eq. 7)."""


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """One dependency group over all triplets of a run (Wu section 6)."""

    group: str
    presence: ShareInterval | None
    """Share of the images that have something of it."""
    amount: Count
    """Different objects (of "hidden": nouns)."""
    prevalent: Mapping[str, Count]
    """The most frequent, with how often they occur."""
    skewed: tuple[ObjectRecord, ...]
    """The most one-sided."""
    independence: tuple[IndependenceRecord, ...]
    """Tests of the triplet, and of each pair of variants."""
    intersections: Mapping[str, Share]
    """Other group, or "nouns" -> share of this group's objects that it has too; {} for an empty
    group."""
    example: ExampleRecord | None = None
    """The clearest picture of its most frequent object (Wu Figure 5)."""


@dataclass(frozen=True, slots=True)
class DependenciesRecord:
    """What brought objects into the pictures, the prompt or the scene."""

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
    """The dependency groups of the run; None where no test asks for them."""
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
