"""What the instruments of OASIS measured, as the record of a run keeps it."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.emergence.measure import Emergence
from pytest_t2i.audits.emergence.predisposition import Predisposition
from pytest_t2i.data import FORESEEN, JPEG, VELOCITY, Attribute, Prompt
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.runs.record import (
    EmergenceRecord,
    ForeseenRecord,
)
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.selection import SelectedTest
from pytest_t2i.runs.session import distinct
from pytest_t2i.statistics import Band

if TYPE_CHECKING:
    from PIL.Image import Image

SHOWN = 12
"""Images whose own curves are kept."""
SHOWN_STRIPS = 4
"""Images whose film strips are kept."""
STRIP_SIZE = 72
"""Side in pixels of a picture of a film strip."""


def emergence_records(results: Results) -> Iterator[EmergenceRecord]:
    """Of every concept and attribute, with guidance and without."""
    for test, prompt, attribute in _observed(results, VELOCITY):
        seeds = results.session.seeds(prompt, test.images)
        for guidance in (True, False):
            emergence = Emergence(
                prompt, seeds, attribute, results.observations,
                results.instruments(test), results.session.settings.confidence,
                guidance,
            )  # fmt: skip
            yield _emergence(emergence)


def _emergence(emergence: Emergence) -> EmergenceRecord:
    none = Band((), (), (), emergence.level, 0)
    band, centred = (each.band or none for each in (emergence, replace(emergence, center=True)))
    return EmergenceRecord(
        emergence.id,
        emergence.prompt.id,
        emergence.prompt.concept,
        emergence.attribute.name,
        emergence.guidance,
        tuple(emergence.noise.tolist()),
        band.mean,
        band.low,
        band.high,
        emergence.half_step,
        len(emergence.curves),
        emergence.absent,
        tuple(tuple(curve) for curve in emergence.curves[:SHOWN].round(4).tolist()),
        centred.mean,
        centred.low,
        centred.high,
    )


def foreseen_records(results: Results) -> Iterator[ForeseenRecord]:
    """Of every attribute, and of the labels of the deciding detector."""
    told: set[tuple[str, DetectorRef]] = set()
    for test, prompt, attribute in _observed(results, FORESEEN):
        sample = results.one_sample(prompt, test)
        asked = [sample.foreseen(attribute)] if attribute else []
        first, *others = results.observations.labels(sample.ref)
        # Of two labels one share says both.
        labels = [first, *others] if len(others) > 1 else [first]
        asked += [sample.foreseen_label(label) for label in labels]
        for place, predisposition in enumerate(asked):
            name = predisposition.id, predisposition.ref
            if name not in told:
                told.add(name)
                yield _foreseen(predisposition, strips=SHOWN_STRIPS if not place else 0)


def _foreseen(predisposition: Predisposition, *, strips: int) -> ForeseenRecord:
    return ForeseenRecord(
        predisposition.id,
        predisposition.prompt.id,
        predisposition.prompt.concept,
        predisposition.looked_for,
        predisposition.ref.name,
        tuple(predisposition.shares) if predisposition.said else (),
        tuple(predisposition.undetected) if predisposition.said else (),
        predisposition.settles,
        tuple(
            film_strip(pictures)
            for pictures in map(predisposition.strip, range(min(strips, len(predisposition.seeds))))
            if pictures
        ),
    )


def _observed(results: Results, what: str) -> Iterator[tuple[SelectedTest, Prompt, Any]]:
    """Prompts and attributes of which this is observed, each once, with the most images."""
    widest: dict[tuple[str, Attribute | None], tuple[SelectedTest, Prompt, Any]] = {}
    for test in distinct(results.session.tests.values()):
        if what not in test.selection.observe:
            continue
        plain = [(prompt, None) for prompt in test.selection.prompts] * (what == FORESEEN)
        for prompt, attribute in test.selection.subjects or plain:
            known = widest.get((prompt.text, attribute))
            if known is None or known[0].images < test.images:
                widest[prompt.text, attribute] = (test, prompt, attribute)
    yield from widest.values()


def film_strip(pictures: Sequence[Image]) -> str:
    """What the steps of one image foresee, side by side, as a data URI."""
    from PIL import Image as Images

    small = [picture.resize((STRIP_SIZE, STRIP_SIZE)) for picture in pictures]
    strip = Images.new("RGB", (STRIP_SIZE * len(small), STRIP_SIZE))
    for place, picture in enumerate(small):
        strip.paste(picture, (place * STRIP_SIZE, 0))
    buffer = io.BytesIO()
    strip.save(buffer, format="JPEG", quality=80)
    return JPEG + base64.b64encode(buffer.getvalue()).decode()
