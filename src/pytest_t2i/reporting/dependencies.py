"""Dependency groups: as tables, as charts, and a picture of each (Wu section 6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_t2i.reporting.charts import UNIT, Row, Track
from pytest_t2i.reporting.formatting import interval_text, percent
from pytest_t2i.reporting.neutrality import p_words
from pytest_t2i.reporting.objects import NAMED, object_row
from pytest_t2i.reporting.overlays import overlay
from pytest_t2i.runs.record import ExampleRecord, GroupRecord, RunRecord

COLUMNS = (
    "explicitly_guided",
    "implicitly_guided",
    "explicitly_independent",
    "implicitly_independent",
    "hidden",
    "nouns",
)
"""Of the table of intersections (Wu Table 13)."""
VARIANTS = ("triplet", "neutral, feminine", "neutral, masculine", "feminine, masculine")


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A dependency group in the table."""

    group: str
    presence: str
    amount: int
    prevalent: str
    skewed: str
    tests: list[str]
    """p-values of the triplet and of each pair."""
    intersections: list[str]
    """Percent of its objects that each group and the nouns have too."""


def rows(record: RunRecord) -> list[GroupRow]:
    """One row for each dependency group; [] where no test asked."""
    dependencies = record.dependencies
    return [] if dependencies is None else [_row(group) for group in dependencies.groups]


def _row(group: GroupRecord) -> GroupRow:
    return GroupRow(
        _name(group),
        interval_text(group.presence),
        group.amount,
        ", ".join(f"{name} {n}" for name, n in group.prevalent.items()) or "-",
        ", ".join(f"{s.name} {interval_text(s.score)}" for s in group.skewed[:NAMED]) or "-",
        [p_words(t.p_value.estimate if t.p_value else None) for t in group.independence]
        or ["-"] * len(VARIANTS),
        [
            f"{100 * group.intersections[g]:.0f}" if g in group.intersections else "-"
            for g in COLUMNS
        ],
    )


def told(record: RunRecord) -> Iterator[str]:
    """Dependency groups in a few lines of text."""
    dependencies = record.dependencies
    if dependencies is None:
        return
    if not dependencies.images:
        yield f"dependency groups: none of {dependencies.left_out} images shows word attention"
        return
    left = f", {dependencies.left_out} images left out" if dependencies.left_out else ""
    images = f"{dependencies.images} images{left}"
    yield f"dependency groups of {dependencies.triplets} triplets ({images}):"
    for row in rows(record):
        yield (
            f"  {row.group}: in {row.presence} of images, {row.amount} different, p {row.tests[0]}"
        )


@dataclass(frozen=True, slots=True)
class GroupChart:
    """The most one-sided objects of a group."""

    group: str
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class ExampleFigure:
    """A picture of a group with what lies where."""

    group: str
    uri: str | None
    """The picture with its object outlined and attention laid over; None where it is gone."""
    words: str
    prompt: str


def presence(record: RunRecord) -> list[Row]:
    """In what share of the images each group is (Wu Table 11)."""
    return [_presence(group) for group in _groups(record)]


def charts(record: RunRecord) -> list[GroupChart]:
    """The most one-sided objects of each group that has any (Wu Figures 7 and 8)."""
    return [
        GroupChart(_name(group), [object_row(each) for each in group.skewed])
        for group in _groups(record)
        if group.skewed
    ]


def examples(record: RunRecord) -> list[ExampleFigure]:
    """A picture of each group that is in some (Wu Figure 5)."""
    return [
        ExampleFigure(_name(group), overlay(shown), _seen(group.group, shown), shown.prompt)
        for group in _groups(record)
        if (shown := group.example) is not None
    ]


def _groups(record: RunRecord) -> tuple[GroupRecord, ...]:
    return record.dependencies.groups if record.dependencies else ()


def _name(group: GroupRecord) -> str:
    return group.group.replace("_", " ")


def _presence(group: GroupRecord) -> Row:
    share = group.presence
    if share is None:
        return Row(_name(group), Track("in no image that is known"), "-", "")
    track = Track(
        label=f"in {interval_text(share)} of the images",
        bar=UNIT.span(0.0, share.estimate),
        whisker=(UNIT.at(share.low), UNIT.at(share.high)),
    )
    return Row(_name(group), track, percent(share.estimate), f"{group.amount} different")


def _seen(group: str, shown: ExampleRecord) -> str:
    if group == "hidden":
        return f"{shown.name}: named, and not to be seen"
    covered = f"attention to {shown.noun} covers {percent(shown.covered)} of it"
    return f"{shown.name}: {covered if shown.noun else 'no noun has attention'}"
