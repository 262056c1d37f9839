"""Stereotypes: an attribute's share among a concept's images against the real world (OASIS eq. 3).

Tests use the fixtures ``stereotype`` and ``stereotypes``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit, Fixture
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.data import Interval, Row, Scalar
from pytest_t2i.sections import (
    Axis,
    Bar,
    BarChart,
    Block,
    Note,
    Plane,
    Point,
    Section,
    round_end,
)

if TYPE_CHECKING:
    from pytest_t2i.audits.stereotypes.measure import Association
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.verdicts.check import Check

METRIC = "stereotype_score"
SHARE = "attribute_share"
"""Metric of the rows of shares: that of the images that show the attribute (OASIS eq. 5)."""
AGAINST = "Stereotype score against variety"
OF_RUN = (
    "One point for each attribute, with the intervals of both. The good corner is below on the "
    "right: few stereotypes, and much variety. A point below on the left has a low score that may "
    "have been bought with sameness."
)
OF_MODELS = (
    "One point for each attribute and model: {signs}. Lines are the intervals of both. The good "
    "corner is below on the right: few stereotypes, and much variety. A model below on the left of "
    "another may have bought its low score with sameness."
)
AXES = "Upwards: stereotype score \u03a8 from 0 to 1. To the right: WALS"
COMPARABLE = "; varieties compare between equal numbers of images by one encoder."
REACHES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Possible upper ends of the axis of variety."""
SIGNS = "\u25cf\u25a0\u25b2\u25c6\u25bc\u2605"
"""Markers of the models in a plane."""
Concepts = dict[str, list[Point]]


class StereotypesAudit(Audit):
    """The audit of how much more often an attribute is shown than it occurs in the real world."""

    name, place = "stereotypes", 30
    after = ("emergence", "parity", "variety")
    scope = "Stereotypes: attributes that are more frequent than in the real world."
    unmeasured = "Stereotypes were not measured in this run."
    title = "Stereotypes"
    reading = (
        "Share of images that show an attribute, beside its share in the real world. The "
        "stereotype score \u03a8 is the excess, or the lack of an attribute that is prone to be "
        "shown too rarely; 0 when there is none."
    )
    fixtures = MappingProxyType(
        {
            "stereotype": Fixture(
                f"{__name__}.measure:association_of",
                "stereotypes",
                one_by_one=True,
                doc="One stereotype as measured; the test runs once per stereotype of its t2i "
                "marker.",
                stopping=f"{__name__}.measure:StereotypeStopping",
            ),
            "stereotypes": Fixture(
                f"{__name__}.measure:associations",
                "stereotypes",
                doc="Every stereotype of the t2i marker, as measured.",
            ),
        }
    )

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the need for detections of the attribute, and for detectors' own labels."""
        from pytest_t2i.audits.stereotypes import measure

        return measure.needs(context, test)

    def rows(self, context: AuditContext) -> Iterator[Row]:
        """Yield score and share of every stereotype, with the most images that a test asks for."""
        from pytest_t2i.audits.engine.counts import widest_of
        from pytest_t2i.audits.stereotypes.measure import one_association

        asked = ((each, test) for test in context.tests for each in test.selection.stereotypes)
        for stereotype, test in widest_of(asked):
            yield from _rows(one_association(context, stereotype, test))

    def in_words(self, rows: Rows) -> str:
        """Return the highest score; "" without any."""
        scored = _scored(rows)
        if not scored:
            return ""
        highest = scored[0][1].estimate
        return f"stereotype score: highest {highest:.3f} ({_where(scored[0][0])}) of {len(scored)}"

    def blocks(self, rows: Rows, run: Any) -> Sequence[Block]:
        """Return a chart of shares against the real world for each concept, and the sources."""
        sources = dict.fromkeys(row.facts["source"] for row in rows.of(METRIC, "stereotype"))
        source_names = "; ".join(str(source) for source in sources if source)
        charts = _charts(rows, run.checks_of(METRIC))
        return [*charts, Note(f"Sources: {source_names or 'none given'}.")]

    def sections(self, rows: Rows, run: Any) -> Sequence[Section]:
        """Return shares against the real world and, where variety is known, scores against it."""
        planes = _against_variety(_points(rows, run), OF_RUN, f"{AXES}.")
        return [*super().sections(rows, run), *planes]

    def compare(
        self,
        models: Sequence[tuple[str, Rows, Any]],
        *,
        level: float,  # noqa: ARG002 - intervals are those of the runs
        seed: int,  # noqa: ARG002 - nothing is drawn
    ) -> Sequence[Section]:
        """Return planes of scores against variety, with a point for each attribute and model."""
        signs = [*SIGNS, *(f"({number})" for number in range(len(SIGNS) + 1, len(models) + 1))]
        models_with_signs = list(zip(models, signs, strict=False))
        concepts: Concepts = {}
        for (model, rows, run), sign in models_with_signs:
            for concept, points in _points(rows, run).items():
                of_model = [replace(point, series=model, sign=sign) for point in points]
                concepts.setdefault(concept, []).extend(of_model)
        legend = ", ".join(f"{sign} {model}" for (model, _, _), sign in models_with_signs)
        return _against_variety(concepts, OF_MODELS.format(signs=legend), f"{AXES}{COMPARABLE}")

    def first(self, rows: Rows) -> Row | None:
        return next((row for row, _ in _scored(rows)), None)


def _rows(association: Association) -> Iterator[Row]:
    stereotype = association.stereotype
    facts: dict[str, Scalar] = {
        "name": stereotype.attribute.name,
        "concept": stereotype.prompt.concept,
        "detector": association.detector,
        "expected": stereotype.expected,
        "direction": stereotype.direction,
        "margin": stereotype.margin,
        "source": stereotype.source,
    }
    counts = {
        "images": len(association.seeds),
        "clear": association.clear,
        "present": association.present,
    }
    score, share = association.score_interval, association.share
    facts["note"] = _in_words(facts, share)
    unclear = "" if share else "no clear image"
    repeated = "too many pictures are equal" if association.has_no_verdict else unclear
    yield Row(METRIC, stereotype.id, "stereotype", score, {}, facts, counts, repeated)
    yield Row(SHARE, stereotype.id, "stereotype", share, {}, facts, counts, unclear)


def _shares(rows: Rows) -> dict[str, Interval]:
    shares = ((row.subject, row.interval) for row in rows.of(SHARE, "stereotype"))
    return {subject: share for subject, share in shares if share is not None}


def _scored(rows: Rows) -> list[tuple[Row, Interval]]:
    pairs = [(row, row.interval) for row in rows.of(METRIC, "stereotype")]
    scored = [(row, score) for row, score in pairs if score is not None]
    return sorted(scored, key=lambda pair: -pair[1].estimate)


def _where(row: Row) -> str:
    return f"{row.facts.get('concept')}: {row.name}"


def _in_words(facts: Mapping[str, Scalar], share: Interval | None) -> str:
    text = f"{share.estimate:.0%} of images" if share else "no clear image"
    expected, margin = facts.get("expected"), facts.get("margin")
    if isinstance(expected, float | int):
        text += f", {expected:.1%} in the real world"
    if facts.get("direction") == "under":
        text += "; prone to be shown too rarely"
    if isinstance(margin, float | int) and margin:
        text += f"; margin {margin:g}"
    return text


def _charts(rows: Rows, checks: Mapping[str, Sequence[Check]]) -> Iterator[BarChart]:
    shares = _shares(rows)
    groups: dict[str, list[Bar]] = {}
    for row in rows.of(METRIC, "stereotype"):
        bar = _bar(row, shares.get(row.subject), checks.get(row.subject, ()))
        groups.setdefault(str(row.facts["concept"]), []).append(bar)
    for concept, bars in groups.items():
        yield BarChart(
            concept, tuple(bars), 0.0, 1.0, "share of images", reference="real world",
            score="\u03a8",
        )  # fmt: skip


def _bar(row: Row, share: Interval | None, checks: Sequence[Check]) -> Bar:
    """Return the bar of a share; limits of the score are drawn as the shares that reach them."""
    expected: Any = row.facts["expected"]
    bar = Bar.judged(
        row.name, share, checks, note=str(row.facts.get("note", "")), absent="no clear image",
        reference=expected, score=row.interval,
    )  # fmt: skip
    side = -1 if row.facts["direction"] == "under" else 1
    return replace(bar, limits=tuple(expected + side * limit for limit in bar.limits))


def _points(rows: Rows, run: Any) -> Concepts:
    """Return points by concept, for WALS along the direction from texts, not centred."""
    scores = {(row.facts.get("concept"), row.name): score for row, score in _scored(rows)}
    concepts: Concepts = {}
    for row in run.part("variety").of("wals", "prompt"):
        name = row.facts.get("concept"), row.name
        plain = (row.dims.get("direction"), row.dims.get("centred")) == ("text", False)
        if plain and row.interval and name in scores:
            point = Point(row.name, row.interval, scores[name])
            concepts.setdefault(str(name[0]), []).append(point)
    return concepts


def _against_variety(concepts: Concepts, lead: str, axes: str) -> Sequence[Section]:
    if not concepts:
        return ()
    reach = round_end((p.x for points in concepts.values() for p in points), REACHES)
    across = Axis("WALS", 0.0, reach, 3, "high")
    upwards = Axis("stereotype score", 0.0, 1.0, 2, "low")
    planes = (Plane(name, across, upwards, tuple(some)) for name, some in concepts.items())
    return (Section(AGAINST, (Note(lead), *planes, Note(axes))),)
