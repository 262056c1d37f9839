"""The report of dependencies: groups as tables and charts, and a picture of each (Wu section 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.dependencies.groups import GROUPS
from pytest_t2i.audits.dependencies.measure import Dependencies
from pytest_t2i.audits.objects.counts import all_counted
from pytest_t2i.audits.objects.report import (
    NAMED,
    IndependenceRecord,
    ObjectRecord,
    independence,
    known_p,
    object_chart,
    scored,
    scores,
)
from pytest_t2i.audits.summary import Frame, Summary
from pytest_t2i.data import Count, Mask, PicturePath, Share, ShareInterval
from pytest_t2i.sections import (
    Bar,
    BarChart,
    Block,
    Note,
    Overlay,
    Overlays,
    Paragraph,
    Section,
    Table,
)
from pytest_t2i.sections.words import several

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
    planned_images = sum(3 * len(member.seeds) for member in groups.members)
    return DependenciesRecord(
        finder=groups.finder,
        triplets=len(groups.members),
        images=len(groups.images),
        left_out=planned_images - len(groups.images),
        nouns=len(groups.names["nouns"]),
        groups=tuple(_group(groups, group) for group in GROUPS),
    )


def _group(dependencies: Dependencies, name: str) -> GroupRecord:
    objects = dependencies.group(name)
    shares = {group: dependencies.intersection(name, group) for group in (*GROUPS, "nouns")}
    return GroupRecord(
        name,
        dependencies.presence(name),
        len(dependencies.names[name]),
        dict(dependencies.prevalent(name)),
        scores(objects)[:SKEWED],
        independence(objects),
        {group: share for group, share in shares.items() if share is not None},
        _example_of_group(dependencies, name),
    )


def _example_of_group(dependencies: Dependencies, group: str) -> ExampleRecord | None:
    example = dependencies.example(group)
    if example is None:
        return None
    prompt, seed, placement = example
    file = dependencies.observations.images(prompt, [seed])[0].file
    return ExampleRecord(
        placement.name,
        prompt.text,
        seed,
        str(file) if file else None,
        Mask.of(placement.region),
        placement.noun,
        Mask.of(placement.mask),
        placement.covered,
    )


VARIANTS = ("triplet", "neutral, feminine", "neutral, masculine", "feminine, masculine")
READ = (
    "What brought objects into the pictures. Explicitly: the prompt names it; guided: attention to "
    "a noun of the prompt covers it; hidden: nouns that show no object."
)
PICTURES = (
    "The clearest picture of each group's most frequent object. Outlined: where the object "
    "detector finds it. Dark: where the noun has no attention."
)
P_VALUES = 'p-values of "its objects do not depend on the variant", permuted within triplets:'
INTERSECTIONS = "Share of a group's objects that are in another group, too:"


def summary(record: DependenciesRecord) -> Summary:
    """Return a line for cards and a table of the groups, with p-values over all three variants."""
    columns = ("group", "finder", "images", "presence", "objects", "independence_p_value")
    rows = [
        (
            group.group, record.finder, record.images, group.presence, group.amount,
            next((test.p_value for test in group.independence), None),
        )
        for group in record.groups
    ]  # fmt: skip
    frame = Frame(columns, rows, ("presence", "independence_p_value"))
    return Summary(_groups_known(record), frames={"dependency_groups": frame})


def sections(record: DependenciesRecord, run: Any) -> Sequence[Section]:  # noqa: ARG001 - as it is called
    """Return one section, with everything measured of the groups."""
    groups = record.groups
    blocks: tuple[Block, ...] = (
        Note(f"{READ} {_looked_at(record)}"),
        Paragraph(_groups_known(record), "summary"),
    )
    if record.images:
        blocks += (
            _shares(groups),
            *_examples(groups),
            _presence(groups),
            *(
                object_chart(_name(group).capitalize(), group.skewed, "the most one-sided")
                for group in groups
                if group.skewed
            ),
            _frequent(groups),
            Note(P_VALUES),
            _p_values(groups),
            Note(INTERSECTIONS),
            _intersections(groups),
        )
    return (Section("Dependency groups", blocks),)


def _groups_known(record: DependenciesRecord) -> str:
    """Return the number of images whose groups are known, in words."""
    if not record.images:
        return f"dependency groups: none of {record.left_out} images shows word attention"
    left = f", {several(record.left_out, 'image')} left out" if record.left_out else ""
    images = several(record.images, "image")
    return f"dependency groups of {record.triplets} triplets ({images}{left})"


def _looked_at(record: DependenciesRecord) -> str:
    left = ""
    if record.left_out:
        left = f", {record.left_out} left out without a picture or attention"
    images = several(record.images, "image")
    return f"{record.triplets} triplets, {images}{left}, by {record.finder}."


def _shares(groups: Sequence[GroupRecord]) -> Table:
    """Return the table of shares, which the terminal shows, too."""
    rows = tuple(
        (_name(group), group.presence, group.amount, _p_value(group, 0)) for group in groups
    )
    columns = ("Group", "Share of images", "Different", "p")
    return Table("Dependency groups (Wu Tables 11 and 12)", columns, rows, "summary")


def _examples(groups: Sequence[GroupRecord]) -> tuple[Block, ...]:
    """Return a picture of each group that occurs (Wu Figure 5)."""
    overlays = tuple(_example(group, group.example) for group in groups if group.example)
    return (Overlays(overlays), Note(PICTURES)) if overlays else ()


def _example(group: GroupRecord, example: ExampleRecord) -> Overlay:
    words = (_name(group), _seen(group.group, example), example.prompt)
    alternative = "{}: {}; {}".format(*words)
    return Overlay(example.file, example.region, example.attention, words, alternative)


def _seen(group: str, example: ExampleRecord) -> str:
    if group == "hidden":
        return f"{example.name}: named, but not in the picture"
    covered = f"attention to {example.noun} covers {100 * example.covered:.0f} % of it"
    return f"{example.name}: {covered if example.noun else 'no noun has attention'}"


def _presence(groups: Sequence[GroupRecord]) -> BarChart:
    """Return the chart of the share of images with each group (Wu Table 11)."""
    bars = tuple(
        Bar(_name(group), group.presence, f"{group.amount} different", "no image has known groups")
        for group in groups
    )
    title = "Share of images that have each"
    return BarChart(title, bars, 0.0, 1.0, "share", form="percent", level="page")


def _frequent(groups: Sequence[GroupRecord]) -> Table:
    rows = tuple(
        (
            _name(group),
            ", ".join(f"{name} {n}" for name, n in group.prevalent.items()) or "-",
            ", ".join(map(scored, group.skewed[:NAMED])) or "-",
        )
        for group in groups
    )
    columns = ("Group", "Most frequent", "Most one-sided (0 feminine, 1 masculine)")
    return Table("Objects of each group (Wu Figures 6 to 8)", columns, rows)


def _p_values(groups: Sequence[GroupRecord]) -> Table:
    rows = tuple(
        (_name(group), *(_p_value(group, place) for place in range(len(VARIANTS))))
        for group in groups
    )
    caption = "Independence by dependency group (Wu Tables 7 to 9)"
    return Table(caption, ("Group", *VARIANTS), rows, "page")


def _p_value(group: GroupRecord, place: int) -> str | None:
    """Return the p-value in one column of ``VARIANTS``, in words."""
    tests = group.independence
    p_value = tests[place].p_value if place < len(tests) else None
    return known_p(p_value.estimate if p_value else None)


def _intersections(groups: Sequence[GroupRecord]) -> Table:
    over = (*GROUPS, "nouns")
    rows = tuple(
        (_name(group), *(group.intersections.get(column) for column in over)) for group in groups
    )
    columns = ("Over", *(column.replace("_", " ") for column in over))
    caption = "Intersections of dependency groups (Wu Table 13)"
    return Table(caption, columns, rows, "page", form="percent")


def _name(group: GroupRecord) -> str:
    return group.group.replace("_", " ")
