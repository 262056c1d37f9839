"""Objects by gender: which come with whom, and whether any does (Wu section 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_t2i.reporting.charts import UNIT, Row, Track
from pytest_t2i.reporting.neutrality import p_words
from pytest_t2i.reporting.words import interval_text, plain
from pytest_t2i.runs.record import GroupRecord, ObjectRecord, ObjectsRecord, RunRecord

MIDDLE = 0.5
SHOWN = 30
"""Objects in the chart; run.json has them all."""
NAMED = 5
"""Objects that the terminal and the summary name."""
ALL_VARIANTS = 3


@dataclass(frozen=True, slots=True)
class ObjectsSection:
    """The section of the page."""

    record: ObjectsRecord
    rows: list[Row]
    """Objects that are judged, the most one-sided first."""
    expected: list[Row]
    """Those that are expected to differ, each with its reason."""
    left_out: int
    """Objects beyond those shown."""
    tests: list[tuple[str, str, str]]
    """Variants, p-value by permutation, Pearson's."""
    similarity: str


def section(record: RunRecord) -> ObjectsSection | None:
    """What is said of objects; None where no test asked."""
    found = record.objects
    if found is None:
        return None
    judged = [one for one in found.objects if not one.expected]
    return ObjectsSection(
        found,
        [_row(one) for one in judged[:SHOWN]],
        [_row(one) for one in found.objects if one.expected],
        max(0, len(judged) - SHOWN),
        [
            (", ".join(t.variants), interval_text(t.p_value), p_words(t.chi_square_p_value))
            for t in found.independence
        ],
        _similarity(found),
    )


def _row(one: ObjectRecord) -> Row:
    counts = f"{one.neutral} neutral, {one.feminine} feminine, {one.masculine} masculine"
    if one.score is None:
        return Row(one.name, Track(counts, zero=50.0), "with neither", counts)
    score = one.score
    note = f"{counts}; {one.expected or f'p {p_words(one.p_value)}, adjusted'}"
    track = Track(
        label=f"object bias score {interval_text(score)}; {note}",
        kind="male"
        if score.estimate > MIDDLE
        else "female"
        if score.estimate < MIDDLE
        else "plain",
        bar=UNIT.span(MIDDLE, score.estimate),
        whisker=(UNIT.at(score.low), UNIT.at(score.high)),
        zero=50.0,
    )
    return Row(
        one.name, track, f"{plain(score.estimate, 2)} ({one.feminine}:{one.masculine})", note
    )


def _similarity(found: ObjectsRecord) -> str:
    if found.gap is None:
        return "too few images show objects in all three variants to compare them"
    women, men = plain(found.to_feminine), plain(found.to_masculine)
    return f"to feminine {women}, to masculine {men}, gap {interval_text(found.gap)}"


def told(record: RunRecord) -> Iterator[str]:
    """Objects in a few lines of text."""
    found = record.objects
    if found is None:
        return
    of = f"{found.triplets} triplets ({found.images} images) by {found.finder}"
    judged = [one for one in found.objects if not one.expected]
    sure = [one for one in judged if one.p_value is not None and one.p_value <= 0.05]  # noqa: PLR2004
    named = "; ".join(f"{one.name} {interval_text(one.score)}" for one in sure[:NAMED])
    more = f"; and {len(sure) - NAMED} more" if len(sure) > NAMED else ""
    yield (
        f"objects of {of}: {len(judged)} judged, {len(found.objects) - len(judged)} expected to "
        f"differ, {found.rare} too rare (below {found.least})"
    )
    if sure:
        yield f"come with one gender (0 feminine, 1 masculine): {named}{more}"
    tested = next((t for t in found.independence if len(t.variants) == ALL_VARIANTS), None)
    p_value = (
        "cannot be tested"
        if tested is None or tested.p_value is None
        else (f"p {p_words(tested.p_value.estimate)}")
    )
    yield (
        f"all objects, expected ones included, depend on the variant: {p_value}; co-occurrence "
        f"{_similarity(found)}"
    )


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


def group_rows(record: RunRecord) -> list[GroupRow]:
    """One row for each dependency group; [] where no test asked."""
    found = record.dependencies
    return [] if found is None else [_group_row(group) for group in found.groups]


def _group_row(one: GroupRecord) -> GroupRow:
    return GroupRow(
        one.group.replace("_", " "),
        interval_text(one.presence),
        one.amount,
        ", ".join(f"{name} {n}" for name, n in one.prevalent.items()) or "-",
        ", ".join(f"{s.name} {interval_text(s.score)}" for s in one.skewed[:NAMED]) or "-",
        [p_words(t.p_value.estimate if t.p_value else None) for t in one.independence],
        [f"{100 * one.intersections[g]:.0f}" if one.intersections else "-" for g in COLUMNS],
    )


def groups_told(record: RunRecord) -> Iterator[str]:
    """Dependency groups in a few lines of text."""
    found = record.dependencies
    if found is None:
        return
    if not found.images:
        yield f"dependency groups: none of {found.left_out} images shows word attention"
        return
    left = f", {found.left_out} images left out" if found.left_out else ""
    yield f"dependency groups of {found.triplets} triplets ({found.images} images{left}):"
    for one in group_rows(record):
        yield (
            f"  {one.group}: in {one.presence} of images, {one.amount} different, p {one.tests[0]}"
        )
