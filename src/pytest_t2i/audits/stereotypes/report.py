"""The report of stereotypes: shares against the real world, and scores against variety."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.shared_blocks import widest_of
from pytest_t2i.audits.stereotypes.measure import Association, one_association
from pytest_t2i.audits.summary import Figure, Frame, NamedRecord, Summary, Value
from pytest_t2i.data import Prone, Share, ShareInterval
from pytest_t2i.sections import (
    Axis,
    Bar,
    BarChart,
    Block,
    Note,
    Paragraph,
    Plane,
    Point,
    Section,
    round_end,
)
from pytest_t2i.verdicts.check import Check, judged


@dataclass(frozen=True, slots=True)
class StereotypeRecord:
    """One attribute of one concept."""

    id: str
    concept: str
    attribute: str
    detector: str
    expected: Share
    share: ShareInterval | None
    score: ShareInterval | None
    """Stereotype score Psi."""
    source: str
    margin: Share = 0.0
    """zeta (OASIS Definition 1)."""
    direction: Prone = "over"
    """"over" or, for an attribute that is prone to be shown too rarely, "under"."""

    @property
    def told(self) -> str:
        """The measured and the real-world share, in words."""
        real = f"{self.expected:.1%} in the real world"
        prone = "; prone to be shown too rarely" if self.direction == "under" else ""
        margin = f"; margin {self.margin:g}" if self.margin else ""
        text = f"{self.share.estimate:.0%} of images" if self.share else "no clear image"
        return f"{text}, {real}{prone}{margin}"


@dataclass(frozen=True, slots=True)
class StereotypesPart:
    """The part of run.json that stereotypes write."""

    stereotypes: tuple[StereotypeRecord, ...] = ()

    @property
    def highest(self) -> tuple[float, StereotypeRecord] | None:
        """The highest score with its stereotype; None without any."""
        scored = [
            (stereotype.score.estimate, stereotype)
            for stereotype in self.stereotypes
            if stereotype.score is not None
        ]
        return max(scored, key=lambda pair: pair[0], default=None)

    @property
    def scored(self) -> int:
        """Number of stereotypes that have a score."""
        return sum(stereotype.score is not None for stereotype in self.stereotypes)


def measured(context: AuditContext) -> StereotypesPart | None:
    """Return every stereotype, with the most images that a test asks for; None without any."""
    pairs = (
        (stereotype, test) for test in context.tests for stereotype in test.selection.stereotypes
    )
    members = [one_association(context, stereotype, test) for stereotype, test in widest_of(pairs)]
    return StereotypesPart(tuple(map(_record, members))) if members else None


def _record(association: Association) -> StereotypeRecord:
    stereotype = association.stereotype
    return StereotypeRecord(
        stereotype.id,
        stereotype.prompt.concept,
        stereotype.attribute.name,
        association.detector,
        stereotype.expected,
        association.share,
        association.score_interval,
        stereotype.source,
        stereotype.margin,
        stereotype.direction,
    )


METRIC = "stereotype_score"
TITLE, AGAINST = "Stereotypes", "Stereotype score against variety"
SHARES = (
    "Share of images that show an attribute, beside its share in the real world. The stereotype "
    "score \u03a8 is the excess{lack}; 0 when there is none."
)
LACK = " (the lack, of an attribute that is prone to be shown too rarely)"
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


def sections(part: StereotypesPart, run: Any) -> Sequence[Section]:
    """Return shares against the real world and, where variety is known, scores against it."""
    if not part.stereotypes:
        return ()
    lack = LACK if any(stereotype.direction == "under" for stereotype in part.stereotypes) else ""
    sources = dict.fromkeys(
        stereotype.source for stereotype in part.stereotypes if stereotype.source
    )
    blocks: tuple[Block, ...] = (
        Note(SHARES.format(lack=lack)),
        *([Paragraph(_highest_score(part), "summary")] if part.highest else ()),
        *_charts(part, judged(run.checks, METRIC)),
        Note(f"Sources: {'; '.join(sources) or 'none given'}."),
    )
    return (Section(TITLE, blocks), *_against_variety(_points(part, run), OF_RUN, f"{AXES}."))


def _highest_score(part: StereotypesPart) -> str:
    """Return the highest score in words; "" without any."""
    if part.highest is None:
        return ""
    score, worst = part.highest
    return (
        f"stereotype score: highest {score:.3f} ({worst.concept}: {worst.attribute}) "
        f"of {part.scored}"
    )


def _charts(part: StereotypesPart, checks: Mapping[str, Sequence[Check]]) -> Iterator[BarChart]:
    groups: dict[str, list[Bar]] = {}
    for stereotype in part.stereotypes:
        groups.setdefault(stereotype.concept, []).append(
            _bar(stereotype, checks.get(stereotype.id, ()))
        )
    for concept, bars in groups.items():
        yield BarChart(
            concept, tuple(bars), 0.0, 1.0, "share of images", reference="real world",
            score="\u03a8",
        )  # fmt: skip


def _bar(record: StereotypeRecord, checks: Sequence[Check]) -> Bar:
    """Return the bar of a share; limits of the score are drawn as the shares that reach them."""
    bar = Bar.judged(
        record.attribute, record.share, checks, note=record.told, absent="no clear image",
        reference=record.expected, score=record.score,
    )  # fmt: skip
    side = -1 if record.direction == "under" else 1
    return replace(bar, limits=tuple(record.expected + side * limit for limit in bar.limits))


# scores against variety


def planes_of_models(models: Sequence[NamedRecord[StereotypesPart]]) -> Sequence[Section]:
    """Return the planes of scores against variety with the points of several models."""
    signs = [*SIGNS, *(f"({number})" for number in range(len(SIGNS) + 1, len(models) + 1))]
    concepts: Concepts = {}
    for (model, part, run), sign in zip(models, signs, strict=False):
        for concept, points in _points(part, run).items():
            of_model = [replace(point, series=model, sign=sign) for point in points]
            concepts.setdefault(concept, []).extend(of_model)
    legend = ", ".join(
        f"{sign} {record.model}" for sign, record in zip(signs, models, strict=False)
    )
    return _against_variety(concepts, OF_MODELS.format(signs=legend), f"{AXES}{COMPARABLE}")


def _points(part: StereotypesPart, run: Any) -> Concepts:
    """Return points by concept, for WALS along the direction from texts, not centred."""
    scores = {(record.concept, record.attribute): record.score for record in part.stereotypes}
    concepts: Concepts = {}
    for record in getattr(run.part("variety"), "variety", ()):
        score = scores.get((record.concept, record.attribute))
        if (record.direction, record.center) == ("text", False) and record.wals and score:
            concepts.setdefault(record.concept, []).append(
                Point(record.attribute, record.wals, score)
            )
    return concepts


def _against_variety(concepts: Concepts, lead: str, axes: str) -> Sequence[Section]:
    if not concepts:
        return ()
    reach = round_end((p.x for points in concepts.values() for p in points), REACHES)
    across = Axis("WALS", 0.0, reach, 3, "high")
    upwards = Axis("stereotype score", 0.0, 1.0, 2, "low")
    planes = (Plane(name, across, upwards, tuple(some)) for name, some in concepts.items())
    return (Section(AGAINST, (Note(lead), *planes, Note(axes))),)


# outside the sections


def summary(part: StereotypesPart) -> Summary:
    """Return scores as series, values and a table, and the highest one as a figure."""
    concepts = ", ".join(dict.fromkeys(stereotype.concept for stereotype in part.stereotypes))
    scope = f"Stereotypes of {concepts}: attributes that are more frequent than in the real world."
    return Summary(
        _highest_score(part),
        {
            f"{METRIC}/{stereotype.id}": stereotype.score
            for stereotype in part.stereotypes
            if stereotype.score is not None
        },
        {"stereotypes": _frame(part)},
        [
            Value(METRIC, stereotype.id, stereotype.score, stereotype.detector)
            for stereotype in part.stereotypes
        ],
        tuple(_figures(part)),
        scope if concepts else "",
        subjects={
            stereotype.id: stereotype.told
            for stereotype in part.stereotypes
            if stereotype.share is not None
        },
    )


def _figures(part: StereotypesPart) -> Iterator[Figure]:
    if part.highest is not None:
        score, worst = part.highest
        notes = (f"{worst.concept}: {worst.attribute}", f"highest of {part.scored} stereotypes")
        yield Figure("Stereotype score \u03a8", f"{score:.2f}", notes, TITLE)


def _frame(part: StereotypesPart) -> Frame:
    columns = ("id", "concept", "attribute", "expected", "share", METRIC)
    rows = [
        (
            stereotype.id,
            stereotype.concept,
            stereotype.attribute,
            stereotype.expected,
            stereotype.share,
            stereotype.score,
        )
        for stereotype in part.stereotypes
    ]
    return Frame(columns, rows, ("share", METRIC))
