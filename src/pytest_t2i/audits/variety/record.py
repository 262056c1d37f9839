"""The record of variety in run.json."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, TypeVar

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.variety.change import APART, RecordedVariety
from pytest_t2i.audits.variety.measure_vendi import Diversity
from pytest_t2i.audits.variety.measure_wals import Variety
from pytest_t2i.data import Interval, ShareInterval, Source
from pytest_t2i.generation.plan import ATTRIBUTE_IMAGES, FEATURES

Measured = TypeVar("Measured", Variety, Diversity)


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
class DiversityRecord:
    """The effective number of different images of a prompt."""

    prompt: str
    """Id of the prompt."""
    concept: str
    encoder: str
    vendi_score: Interval | None
    absent: str
    """Why there is no score; "" where there is one."""


@dataclass(frozen=True, slots=True)
class VarietyPart:
    """The part of run.json that variety writes."""

    variety: tuple[VarietyRecord, ...] = ()
    """The variety of each prompt along each attribute."""
    diversity: tuple[DiversityRecord, ...] = ()
    """The diversity of each prompt whose features were observed."""


def measured(context: AuditContext) -> VarietyPart | None:
    """Return what the tests of a run asked to be observed; None where they asked for nothing."""
    part = VarietyPart(
        tuple(map(_variety_record, varieties(context))),
        tuple(map(_diversity_record, _diversities(context))),
    )
    return part if part != VarietyPart() else None


def varieties(context: AuditContext) -> list[Variety]:
    """Return the variety along every attribute that tests ask for, each once, with most images."""
    return _widest(((one.id, one.descriptions), one) for one in _asked(context))


def recorded(context: AuditContext) -> dict[str, Any] | None:
    """Return, by id of the variety, what a baseline keeps; None where nothing was measured."""
    found: dict[str, Any] = {}
    for variety in varieties(context):
        if variety.interval is not None:
            told = variety.descriptions
            name = f"{variety.id}{APART}{told[:8]}" if variety.id in found else variety.id
            found[name] = asdict(
                RecordedVariety(
                    variety.interval, variety.encoder_fingerprint, told, variety.pictures
                )
            )
    return found or None


def _diversities(context: AuditContext) -> list[Diversity]:
    return _widest((one.prompt.id, one) for one in _asked_of_prompts(context))


def _widest(named: Iterable[tuple[object, Measured]]) -> list[Measured]:
    """Return the member of each name with the most images, in order of appearance."""
    widest: dict[object, Measured] = {}
    for name, one in named:
        known = widest.get(name)
        if known is None or len(known.seeds) < len(one.seeds):
            widest[name] = one
    return list(widest.values())


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
                    context.settings.confidence, attribute, direction, center,
                )  # fmt: skip


def _asked_of_prompts(context: AuditContext) -> Iterator[Diversity]:
    for test in context.tests:
        selection = test.selection
        if not {FEATURES, ATTRIBUTE_IMAGES}.intersection(selection.observe):
            continue
        concepts = (stereotype.prompt for stereotype in selection.stereotypes)
        for prompt in dict.fromkeys((*selection.prompts, *concepts)):
            seeds = context.observations.distinct([prompt], context.seeds(prompt, test.images))
            yield Diversity(
                prompt, seeds, context.observations, context.instruments(test),
                context.settings.confidence,
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


def _diversity_record(diversity: Diversity) -> DiversityRecord:
    return DiversityRecord(
        diversity.prompt.id,
        diversity.prompt.concept,
        diversity.instruments.encoder,
        diversity.interval,
        diversity.absent,
    )
