"""The report of variety: WALS along attributes (OASIS Fig. 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.summary import Frame, Summary
from pytest_t2i.audits.variety.change import APART, RecordedVariety
from pytest_t2i.audits.variety.measure import Variety
from pytest_t2i.data import Interval, ShareInterval, Source
from pytest_t2i.generation.plan import ATTRIBUTE_IMAGES, FEATURES
from pytest_t2i.sections import Bar, BarChart, Block, Note, Paragraph, Section, round_end
from pytest_t2i.sections.words import several
from pytest_t2i.verdicts.check import Check


@dataclass(frozen=True, slots=True)
class VarietyRecord:
    """The variety of one concept's images along one attribute."""

    id: str
    prompt: str
    """Id of the prompt."""
    concept: str
    attribute: str
    direction: Source
    """Source of the attribute's direction: "text", "images", "kernel"."""
    center: bool
    """Whether the mean feature was subtracted first, which the paper does not do."""
    encoder: str
    wals: ShareInterval | None
    absent: str
    """Why there is no score; "" where there is one."""


@dataclass(frozen=True, slots=True)
class VarietyPart:
    """The part of run.json that variety writes."""

    variety: tuple[VarietyRecord, ...] = ()
    """The variety of each prompt along each attribute."""


def measured(context: AuditContext) -> VarietyPart | None:
    """Return what the tests of a run asked to be observed; None where they asked for nothing."""
    records = tuple(map(_variety_record, varieties(context)))
    return VarietyPart(records) if records else None


def varieties(context: AuditContext) -> list[Variety]:
    """Return the variety along every attribute that tests ask for, each once, with most images."""
    widest: dict[tuple[str, str], Variety] = {}
    for variety in _asked(context):
        name = variety.id, variety.descriptions
        candidate = widest.get(name)
        if candidate is None or len(candidate.seeds) < len(variety.seeds):
            widest[name] = variety
    return list(widest.values())


def recorded(context: AuditContext) -> dict[str, Any] | None:
    """Return, by id of the variety, what a baseline keeps; None where nothing was measured."""
    records: dict[str, Any] = {}
    for variety in varieties(context):
        if variety.interval is not None:
            descriptions = variety.descriptions
            name = f"{variety.id}{APART}{descriptions[:8]}" if variety.id in records else variety.id
            records[name] = asdict(
                RecordedVariety(
                    variety.interval, variety.encoder_fingerprint, descriptions, variety.pictures
                )
            )
    return records or None


def _asked(context: AuditContext) -> Iterator[Variety]:
    for test in context.tests:
        observe = test.selection.observe
        directions = ("text",) * (FEATURES in observe)
        directions += ("images", "kernel") * (ATTRIBUTE_IMAGES in observe)
        for prompt, attribute in test.selection.subjects if directions else ():
            seeds = context.observations.distinct([prompt], context.seeds(prompt, test.images))
            for direction, center in product(directions, (False, True)):
                yield Variety(
                    prompt, seeds, context.observations, context.instruments(test),
                    context.settings.interval_level, attribute, direction, center,
                )  # fmt: skip


def _variety_record(variety: Variety) -> VarietyRecord:
    return VarietyRecord(
        variety.id,
        variety.prompt.id,
        variety.prompt.concept,
        variety.attribute.name,
        variety.direction,
        variety.center,
        variety.instruments.encoder,
        variety.interval,
        variety.absent,
    )


REACHES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Possible upper ends of a scale of WALS."""
SOURCES = {
    "text": "direction from the descriptions",
    "images": "direction from images of the descriptions",
    "kernel": "direction from images of the descriptions, by a kernel",
}
WALS = (
    "WALS: how much of the spread of a concept's images lies along an attribute, from 0 to 1; "
    "lower is less variety. Whiskers are confidence intervals. Scores compare between equal "
    "numbers of images by one encoder."
)


def sections(part: VarietyPart, run: Any) -> Sequence[Section]:
    """Return the section of the scores, where any was measured."""
    if not part.variety:
        return ()
    blocks = (Note(WALS), *_lowest_wals(part), *_charts(part.variety, run.checks_of("wals")))
    return (Section("Variety along an attribute", blocks),)


def _lowest_wals(part: VarietyPart) -> Iterator[Block]:
    pairs = [
        (variety.wals, variety)
        for variety in part.variety
        if variety.wals is not None and not variety.center
    ]
    if pairs:
        wals, least = min(pairs, key=lambda pair: pair[0].estimate)
        yield Paragraph(
            f"variety (WALS): lowest {wals} ({least.concept}: {least.attribute}, "
            f"direction from {least.direction}) of {len(pairs)}",
            "summary",
        )


def _charts(
    varieties: Iterable[VarietyRecord], checks: Mapping[str, Sequence[Check]]
) -> Iterator[BarChart]:
    """Yield a chart for each concept and source of the direction."""
    varieties = list(varieties)
    high = round_end((variety.wals for variety in varieties), REACHES)
    groups: dict[tuple[str, str], list[Bar]] = {}
    for variety in varieties:
        source = SOURCES.get(variety.direction, f"direction from images by {variety.direction}")
        note = f"{source}{', centred' * variety.center}"
        bar = _bar(
            variety.attribute,
            variety.wals,
            variety.encoder,
            variety.absent,
            checks.get(variety.id, ()),
        )
        groups.setdefault((variety.concept, note), []).append(bar)
    for (concept, note), bars in groups.items():
        yield BarChart(concept, tuple(bars), 0.0, high, "WALS", note)


def _bar(
    name: str, interval: Interval | None, encoder: str, absent: str, checks: Sequence[Check]
) -> Bar:
    note = f"{several(interval.n, 'image')}, by {encoder}" if interval else absent
    return Bar.judged(name, interval, checks, note=note, absent=absent)


def summary(part: VarietyPart) -> Summary:
    """Return the scores as a table for pandas and CSV."""
    along = [
        (v.prompt, v.concept, v.attribute, v.direction, v.center, v.encoder, v.wals)
        for v in part.variety
    ]
    columns = ("prompt", "concept", "attribute", "direction", "centred", "encoder", "wals")
    return Summary(frames={"variety": Frame(columns, along, ("wals",))})
