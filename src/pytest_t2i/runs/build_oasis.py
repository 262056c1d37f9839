"""What the instruments of OASIS measured, as the record of a run keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from pytest_t2i.audits.variety import Variety
from pytest_t2i.generation.plan import ATTRIBUTE_IMAGES, FEATURES
from pytest_t2i.runs.record import VarietyRecord
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.session import distinct


def varieties(results: Results) -> list[Variety]:
    """Variety along every attribute that was asked for, each once, with the most images."""
    widest: dict[str, Variety] = {}
    for one in _asked(results):
        known = widest.get(one.id)
        if known is None or len(known.seeds) < len(one.seeds):
            widest[one.id] = one
    return list(widest.values())


def _asked(results: Results) -> Iterator[Variety]:
    session = results.session
    for test in distinct(session.tests.values()):
        observe = test.selection.observe
        directions = ("text",) * (FEATURES in observe)
        directions += ("images", "kernel") * (ATTRIBUTE_IMAGES in observe)
        for prompt, attribute in test.selection.subjects if directions else ():
            seeds = session.seeds(prompt, test.images)
            for direction, center in product(directions, (False, True)):
                yield Variety(
                    prompt, seeds, attribute, direction, results.observations,
                    session.instruments(test.selection), session.settings.confidence,
                    center,
                )  # fmt: skip


def variety_records(results: Results) -> Iterator[VarietyRecord]:
    """Of every concept and attribute."""
    for one in varieties(results):
        yield VarietyRecord(
            one.id,
            one.prompt.id,
            one.prompt.concept,
            one.attribute.name,
            one.direction,
            one.center,
            one.instruments.encoder,
            one.interval,
            one.absent,
        )
