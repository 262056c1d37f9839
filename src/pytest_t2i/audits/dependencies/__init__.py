"""Dependencies: did the prompt or the scene bring an object into a picture (Wu section 6)?

Tests use the fixture ``dependencies``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit, Fixture
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.audits.objects import (
    EXPECTED,
    INDEPENDENCE,
    NAMED,
    SCORE,
    known_p,
    object_chart,
    scored,
)
from pytest_t2i.data import Mask, Row
from pytest_t2i.sections import Block, Cell, Note, Overlay, Overlays, RowChart, Table
from pytest_t2i.sections.words import several

if TYPE_CHECKING:
    from pytest_t2i.audits.dependencies.measure import Dependencies, Example
    from pytest_t2i.generation.plan import Need

SHARE, OCCURRENCES, OVERLAP = "dependency_group_share", "object_occurrences", "group_overlap"
"""Metrics of the share of images with a group, of an object's occurrences in a group, and of the
share of a group's objects that are in another group, too."""
SKEWED = 10
"""Largest number of one-sided objects that are kept of a group."""
COMPARED = {
    "triplet": "neutral, feminine, masculine",
    "neutral, feminine": "neutral, feminine",
    "neutral, masculine": "neutral, masculine",
    "feminine, masculine": "feminine, masculine",
}
"""Column of the table of tests -> variants that are compared."""
PICTURES = (
    "The clearest picture of each group's most frequent object. Outlined: where the object "
    "detector finds it. Dark: where the noun has no attention."
)


class DependenciesAudit(Audit):
    """The audit that sorts the objects of triplets by what brought them in."""

    name = "dependencies"
    after = ("objects",)
    place = 60
    keywords = MappingProxyType({"expected": EXPECTED})
    fixtures = MappingProxyType(
        {
            "dependencies": Fixture(
                f"{__name__}.measure:dependencies_of",
                "triplets",
                doc="The objects of triplets by what brought them in, the prompt or the scene.",
                finds=True,
                extras=("nouns",),
            )
        }
    )
    title = "Dependency groups"
    reading = (
        "What brought objects into the pictures. Explicitly: the prompt names it; guided: "
        "attention to a noun of the prompt covers it; hidden: nouns that show no object."
    )
    scope = "Whether the prompt or the scene brings objects into the pictures."

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the objects and the word attention of all three variants."""
        from pytest_t2i.audits.dependencies import measure

        return measure.needs(context, test) if self.name in test.selection.fixtures else ()

    def rows(self, context: AuditContext) -> Iterator[Row | Block]:
        """Yield the rows of every group, and a picture of each that occurs (Wu Figure 5)."""
        from pytest_t2i.audits.dependencies.groups import GROUPS
        from pytest_t2i.audits.dependencies.measure import Dependencies
        from pytest_t2i.audits.objects.counts import all_counted

        dependencies = all_counted(Dependencies, context, self.name)
        if dependencies is None:
            return
        examples = [(group, dependencies.example(group)) for group in GROUPS]
        pictures = tuple(
            _overlay(dependencies, group, example)
            for group, example in examples
            if example is not None
        )
        for group in GROUPS:
            yield from _group_rows(dependencies, group, GROUPS)
        if pictures:
            yield from (Overlays(pictures), Note(PICTURES))

    def in_words(self, rows: Rows) -> str:
        """Return the number of images whose groups are known, in words."""
        counts = rows.rows[0].counts
        if not counts["images"]:
            return f"dependency groups: none of {counts['left_out']} images shows word attention"
        left = f", {several(counts['left_out'], 'image')} left out" if counts["left_out"] else ""
        images = several(counts["images"], "image")
        finder = rows.rows[0].facts["finder"]
        return f"dependency groups of {counts['triplets']} triplets ({images}{left}) by {finder}"

    def blocks(self, rows: Rows, run: Any) -> Sequence[Block]:
        """Return shares, a picture of each group, one-sided and frequent objects, and tests."""
        del run
        shares = rows.of(SHARE)
        if not rows.rows[0].counts["images"]:
            return []
        title = "Share of images that have each"
        charts = [
            object_chart(row.name.capitalize(), objects, "p_value")
            for row in shares
            if (objects := _of_group(rows.of(SCORE, "object"), row))
        ]
        return [
            Table(
                "Dependency groups (Wu Tables 11 and 12)",
                ("Group", "Share of images", "Different", "p"),
                tuple(
                    (row.name, row.interval, row.counts["different"], _p_values(rows, row)[0])
                    for row in shares
                ),
                "summary",
            ),
            *rows.pictures,
            RowChart(
                title, (SHARE,), columns=("different",), unit="share", digits=2, level="page"
            ),
            *(replace(chart, note="The most one-sided") for chart in charts),
            _objects(rows),
            Note('p-values of "its objects do not depend on the variant", permuted within '
                 "triplets:"),
            Table(
                "Independence by dependency group (Wu Tables 7 to 9)",
                ("Group", *COMPARED),
                tuple((row.name, *_p_values(rows, row)) for row in shares),
                "page",
            ),
            Note("Share of a group's objects that are in another group, too:"),
            _overlaps(rows),
        ]  # fmt: skip


def _group_rows(found: Dependencies, group: str, groups: Sequence[str]) -> Iterator[Row]:
    dims, share = {"group": group}, found.presence(group)
    planned = sum(3 * len(member.seeds) for member in found.members)
    counts = {
        "triplets": len(found.members),
        "images": len(found.images),
        "left_out": planned - len(found.images),
        "nouns": len(found.names["nouns"]),
        "different": len(found.names[group]),
    }
    facts = {"name": _words(group), "finder": found.finder}
    absent = "" if share else "no image has known groups"
    yield Row(SHARE, "model", "model", share, dims, facts, counts, absent)
    objects = found.group(group)
    yield from objects.independence_rows
    yield from objects.scores[:SKEWED]
    for name, times in found.prevalent(group):
        yield Row(OCCURRENCES, f"object {name} ({group})", "object", times, dims, {"name": name})
    for other in (*groups, "nouns"):
        overlap = found.intersection(group, other)
        if overlap is not None:
            yield Row(OVERLAP, "model", "group", overlap, dims | {"other": other})


def _words(group: str) -> str:
    return group.replace("_", " ")


def _of_group(rows: Sequence[Row], share: Row) -> list[Row]:
    return [row for row in rows if row.dims["group"] == share.dims["group"]]


def _overlay(found: Dependencies, group: str, example: Example) -> Overlay:
    prompt, seed, placed = example
    file = found.observations.images(prompt, [seed])[0].file
    words = (_words(group), f"{placed.name}: {_seen(example)}", prompt.text)
    return Overlay(
        str(file) if file else None,
        Mask.of(placed.region),
        Mask.of(placed.mask),
        words,
        "{}: {}; {}".format(*words),
    )


def _seen(example: Example) -> str:
    placed = example.placed
    if placed.group == "hidden":
        return "named, but not in the picture"
    covered = f"attention to {placed.noun} covers {100 * placed.covered:.0f} % of it"
    return covered if placed.noun else "no noun has attention"


def _objects(rows: Rows) -> Table:
    def named(share: Row) -> tuple[Cell, ...]:
        frequent = _of_group(rows.of(OCCURRENCES, "object"), share)
        uneven = _of_group(rows.of(SCORE, "object"), share)[:NAMED]
        most = ", ".join(f"{row.name} {row.value}" for row in frequent)
        return share.name, most or "-", ", ".join(map(scored, uneven)) or "-"

    columns = ("Group", "Most frequent", "Most one-sided (0 feminine, 1 masculine)")
    cells = tuple(map(named, rows.of(SHARE)))
    return Table("Objects of each group (Wu Figures 6 to 8)", columns, cells)


def _p_values(rows: Rows, share: Row) -> list[str | None]:
    tests = {row.dims["variants"]: row.interval for row in _of_group(
        rows.of(INDEPENDENCE, "group"), share
    )}  # fmt: skip
    p_values = (tests.get(variants) for variants in COMPARED.values())
    return [known_p(p_value.estimate if p_value else None) for p_value in p_values]


def _overlaps(rows: Rows) -> Table:
    other_groups = list(dict.fromkeys(str(row.dims["other"]) for row in rows.of(OVERLAP, "group")))
    shares = rows.of(SHARE)
    overlaps = {
        (row.dims["group"], row.dims["other"]): row.value for row in rows.of(OVERLAP, "group")
    }
    cells = tuple(
        (share.name, *(overlaps.get((share.dims["group"], other)) for other in other_groups))
        for share in shares
    )
    columns = ("Over", *map(_words, other_groups))
    caption = "Intersections of dependency groups (Wu Table 13)"
    return Table(caption, columns, cells, "page", form="percent")
