"""Objects: do they depend on the gender that the prompt names (Wu section 5)?

Tests use the fixture ``objects``; the marker's ``expected`` names objects that may differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit, Fixture, Keyword
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.rows import Rows, row_of_measurement
from pytest_t2i.data import Row
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.sections import Block, Paragraph, RowChart, Table
from pytest_t2i.sections.words import p_words, several

if TYPE_CHECKING:
    from pytest_t2i.generation.plan import Need

SCORE, INDEPENDENCE, GAP = "object_bias_score", "object_independence", "cooccurrence_gap"
SHOWN = 30
"""Largest number of objects in the chart; run.json has them all."""
NAMED = 5
"""Largest number of objects that a line or a cell names."""
SURE = 0.05
"""Adjusted p-value up to which an object is named."""
COLUMNS = ("neutral", "feminine", "masculine")


def _expected(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(
            f"marker t2i: expected must map objects to why they may differ, got {value!r}"
        )
    for word, reason in value.items():
        if not isinstance(reason, str) or not reason.strip():
            raise ConfigurationError(
                f"marker t2i: expected[{word!r}] must say why it may differ, got {reason!r}"
            )
    return tuple((str(word).lower(), reason) for word, reason in value.items())


EXPECTED = Keyword(_expected, ())
"""The keyword for objects that are expected to depend on gender, with the reasons."""


class ObjectsAudit(Audit):
    """The audit of which objects come with masculine prompts, and which with feminine ones."""

    name = "objects"
    place = 50
    title = "Objects"
    reading = (
        "Share of an object's occurrences that come with masculine prompts: 0 feminine ones alone, "
        "0.5 both alike, 1 masculine ones alone. Whiskers are over triplets; p-values share one "
        "false discovery rate. An object counts that occurs often enough with feminine and "
        "masculine prompts together."
    )
    scope = "Which objects come with prompts of one gender."
    keywords = MappingProxyType({"expected": EXPECTED})
    fixtures = MappingProxyType(
        {
            "objects": Fixture(
                f"{__name__}.measure:objects_of",
                "triplets",
                doc="The objects in the images of every triplet of the t2i marker.",
                finds=True,
            )
        }
    )

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the need for the three variants from the same seeds, for the object detector."""
        from pytest_t2i.audits.objects import counts

        return counts.needs(context, test) if self.name in test.selection.fixtures else ()

    def rows(self, context: AuditContext) -> Iterator[Row]:
        """Yield the gap of co-occurrence, scores over all objects, tests, and every object."""
        from pytest_t2i.audits.objects.counts import all_counted
        from pytest_t2i.audits.objects.measure import Objects

        objects = all_counted(Objects, context, self.name)
        if objects is None:
            return
        scores = objects.scores
        similarities = zip(("to_feminine", "to_masculine"), objects.similarities, strict=True)
        counts = {
            "triplets": len(objects.members),
            "images": sum(3 * len(member.seeds) for member in objects.members),
            "judged": len(objects.judged),
            "not_judged": len(scores) - len(objects.judged),
            "rare": objects.rare,
            "least": objects.least,
        }
        facts = {"finder": objects.finder, **dict(similarities)}
        yield row_of_measurement(objects.cooccurrence_gap, "model", facts=facts, counts=counts)
        for score in (objects.highest_bias_score, objects.pooled_bias_score):
            yield row_of_measurement(score, "model")
        yield from objects.independence_rows
        yield from scores

    def in_words(self, rows: Rows) -> str:
        """Return how many objects were judged, and the most one-sided of them, in a line."""
        model = rows.one(GAP)
        if model is None:
            return ""
        counts = model.counts
        judged = _judged(rows)
        first = f"the most one-sided: {scored(judged[0])}" if judged else "none to judge"
        return (
            f"objects of {counts['triplets']} triplets ({several(counts['images'], 'image')}) by "
            f"{model.facts['finder']}: {counts['judged']} judged, {counts['not_judged']} expected "
            f"to differ, {counts['rare']} too rare (below {counts['least']}); {first}"
        )

    def blocks(self, rows: Rows, run: Any) -> Sequence[Block]:
        """Return charts of the judged objects and of those expected to differ, and the tests."""
        del run
        judged = _judged(rows)
        left = len(judged) - SHOWN
        title = f"Judged{f', and {left} more in run.json' if left > 0 else ''}"
        expected = [row for row in rows.of(SCORE, "object") if row.facts["expected"]]
        charts = [
            object_chart(title, judged[:SHOWN], "p_value"),
            object_chart("Expected to differ, not judged", expected, "expected"),
        ]
        return [
            *_uneven(judged),
            Paragraph(_dependence(rows), "summary"),
            *(chart for chart in charts if chart.subjects),
            _tests(rows.of(INDEPENDENCE)),
        ]


def object_chart(title: str, objects: Sequence[Row], *more: str) -> RowChart:
    """Return a chart of objects from 0 (feminine) to 1 (masculine), with their occurrences."""
    return RowChart(
        title, (SCORE,), "object", tuple(row.subject for row in objects),
        columns=(*COLUMNS, *more), unit="object bias score", note="Object", digits=2, level="page",
        ends=("feminine", "masculine"),
    )  # fmt: skip


def scored(row: Row) -> str:
    """Return an object with its score, in words.

    >>> scored(Row("object_bias_score", "object tie", "object", None, {}, {"name": "tie"}))
    'tie -'
    """
    return f"{row.name} {row.interval or '-'}"


def known_p(p_value: Any) -> str | None:
    """Return a p-value for a cell of a table; None where there is none."""
    return None if p_value is None else p_words(p_value)


def _judged(rows: Rows) -> list[Row]:
    return [row for row in rows.of(SCORE, "object") if not row.facts["expected"]]


def _uneven(judged: Sequence[Row]) -> Iterator[Paragraph]:
    p_values: dict[str, Any] = {row.subject: row.facts["p_value"] for row in judged}
    sure = [r for r in judged if (p := p_values[r.subject]) is not None and p <= SURE]
    if sure:
        more = f"; and {len(sure) - NAMED} more" if len(sure) > NAMED else ""
        examples = "; ".join(map(scored, sure[:NAMED]))
        line = f"come with one gender (0 feminine, 1 masculine): {examples}{more}"
        yield Paragraph(line, "summary")


def _dependence(rows: Rows) -> str:
    tested = rows.one(INDEPENDENCE, f"model ({', '.join(COLUMNS)})")
    p_value = tested.interval if tested else None
    similar = ": too few images show objects in all three variants to compare them"
    gap = rows.one(GAP)
    if gap is not None and gap.interval is not None:
        women, men = (gap.facts[f"to_{gender}"] for gender in COLUMNS[1:])
        similar = f" to feminine {women:.3f}, to masculine {men:.3f}, gap {gap.interval}"
    p_said = f"p {p_words(p_value.estimate)}" if p_value else "cannot be tested"
    return (
        f"all objects, expected ones included, depend on the variant: {p_said}; co-occurrence "
        f"similarity of neutral images{similar}"
    )


def _tests(tests: Sequence[Row]) -> Table:
    rows = tuple(
        (row.dims["variants"], row.interval, known_p(row.facts.get("chi_square_p_value")))
        for row in tests
    )
    columns = ("Variants", "p-value, permuted within triplets", "Pearson's")
    return Table("Do objects depend on the variant?", columns, rows, "page", digits=4)
