"""The record of emergence in run.json: SPI step by step, and denoising previews."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.emergence.measure import Emergence
from pytest_t2i.audits.emergence.predisposition import Predisposition
from pytest_t2i.data import (
    FORESEEN,
    JPEG,
    VELOCITY,
    Attribute,
    Count,
    Interval,
    Number,
    Prompt,
    Share,
    ShareInterval,
    Strip,
    check_ends,
)
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.statistics.curves import Band

if TYPE_CHECKING:
    from PIL.Image import Image

SHOWN = 12
"""Largest number of images whose own curves are kept."""
SHOWN_STRIPS = 4
"""Largest number of images whose film strips are kept."""
STRIP_SIZE = 72
"""Side of each picture in a film strip, in pixels."""


@dataclass(frozen=True, slots=True)
class EmergenceRecord:
    """How an attribute gets into a prompt's images, step by step."""

    id: str
    prompt: str
    """Id of the prompt."""
    concept: str
    attribute: str
    guidance: bool
    """Whether the values are of the velocity with guidance."""
    noise: tuple[Share, ...]
    """Share of noise in the latent at each step, from 1 to 0."""
    mean: tuple[Number, ...]
    """Mean SPI of each step; () without a band."""
    low: tuple[Number, ...]
    """Lower ends of a band that holds at all steps at once."""
    high: tuple[Number, ...]
    half_step: Interval | None
    """The step by which half of the final lean is reached; None where there is none."""
    images: Count
    absent: str
    """Why there is no band; "" where there is one."""
    curves: tuple[tuple[Number, ...], ...] = ()
    """SPI of some of the images, step by step."""
    centred: tuple[Number, ...] = ()
    """Mean centred index of each step; () without a band."""
    centred_low: tuple[Number, ...] = ()
    centred_high: tuple[Number, ...] = ()

    def __post_init__(self) -> None:
        centred = self.centred, self.centred_low, self.centred_high
        for mean, low, high in ((self.mean, self.low, self.high), centred):
            if {len(mean), len(low), len(high)} not in ({0}, {len(self.noise)}):
                raise ValueError(f"expected bands over {len(self.noise)} steps or none")
            for ends in zip(low, high, strict=True):
                check_ends(*ends)
        if any(len(curve) != len(self.noise) for curve in self.curves):
            raise ValueError(f"expected curves over {len(self.noise)} steps")


@dataclass(frozen=True, slots=True)
class ForeseenRecord:
    """Share of an attribute or a label among the denoising previews of each step."""

    id: str
    prompt: str
    """Id of the prompt."""
    concept: str
    looked_for: str
    """The attribute, or a label of the detector."""
    detector: str
    shares: tuple[ShareInterval | None, ...]
    """Share at each step, then of the finished images; None where no picture has a label."""
    undetected: tuple[Count, ...]
    """Number of pictures without a label at each step, last among the finished images."""
    settles: Count | None
    """The step from which the share stays within the finished images' interval."""
    strips: tuple[Strip, ...] = ()
    """Film strips, each with the denoising previews of one image: a small JPEG as a data URI."""


@dataclass(frozen=True, slots=True)
class EmergencePart:
    """The part of run.json that emergence writes."""

    emergence: tuple[EmergenceRecord, ...] = ()
    """SPI of each prompt and attribute, with guidance and without."""
    foreseen: tuple[ForeseenRecord, ...] = ()
    """Shares of each attribute or label among the denoising previews."""


def measured(context: AuditContext) -> EmergencePart | None:
    """Return what the tests of a run asked to be observed; None where they asked for nothing."""
    part = EmergencePart(tuple(_emergences(context)), tuple(_foreseens(context)))
    return part if part != EmergencePart() else None


def _emergences(context: AuditContext) -> Iterator[EmergenceRecord]:
    """Yield the records of every prompt and attribute, with guidance and without."""
    for test, prompt, attribute in _observed(context, VELOCITY):
        seeds = context.observations.distinct([prompt], context.seeds(prompt, test.images))
        for guidance in (True, False):
            emergence = Emergence(
                prompt, seeds, attribute, context.observations, context.instruments(test),
                context.settings.confidence, guidance,
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


def _foreseens(context: AuditContext) -> Iterator[ForeseenRecord]:
    """Yield the records of every attribute, and of the labels of the deciding detector."""
    told: set[tuple[str, DetectorRef]] = set()
    for test, prompt, attribute in _observed(context, FORESEEN):
        sample = context.one_sample(prompt, test)
        asked = [sample.foreseen(attribute)] if attribute else []
        first, *others = context.observations.labels(sample.ref)
        # With two labels, the share of one gives that of the other.
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
            _film_strip(pictures)
            for pictures in map(predisposition.strip, range(min(strips, len(predisposition.seeds))))
            if pictures
        ),
    )


def _observed(context: AuditContext, what: str) -> Iterator[tuple[AskedTest, Prompt, Any]]:
    """Yield each prompt and attribute with this observation once, with most images."""
    widest: dict[tuple[str, Attribute | None], tuple[AskedTest, Prompt, Any]] = {}
    for test in context.tests:
        if what not in test.selection.observe:
            continue
        plain = [(prompt, None) for prompt in test.selection.prompts] * (what == FORESEEN)
        for prompt, attribute in test.selection.subjects or plain:
            known = widest.get((prompt.text, attribute))
            if known is None or known[0].images < test.images:
                widest[prompt.text, attribute] = (test, prompt, attribute)
    yield from widest.values()


def _film_strip(pictures: Sequence[Image]) -> str:
    """Return the denoising previews of one image, side by side, as a data URI."""
    from PIL import Image as Images

    small = [picture.resize((STRIP_SIZE, STRIP_SIZE)) for picture in pictures]
    strip = Images.new("RGB", (STRIP_SIZE * len(small), STRIP_SIZE))
    for place, picture in enumerate(small):
        strip.paste(picture, (place * STRIP_SIZE, 0))
    buffer = io.BytesIO()
    strip.save(buffer, format="JPEG", quality=80)
    return JPEG + base64.b64encode(buffer.getvalue()).decode()
