"""Tables of emergence: values over all steps, and step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from pytest_t2i.audits.emergence.record import EmergencePart, EmergenceRecord, ForeseenRecord
from pytest_t2i.audits.summary import Frame

NAMED = ("id", "prompt", "concept", "attribute", "guidance")
BANDS = ("spi", "spi_low", "spi_high", "centred", "centred_low", "centred_high")


def frames(part: EmergencePart) -> Mapping[str, Frame]:
    """Return the tables of whole curves, of their steps, and of denoising previews."""
    whole = [(*_named(one), one.images, one.half_step, one.absent) for one in part.emergence]
    return {
        "emergence": Frame((*NAMED, "images", "half_step", "absent"), whole, ("half_step",)),
        "emergence_steps": Frame(
            (*NAMED, "step", "noise", *BANDS),
            [row for one in part.emergence for row in _steps(one)],
        ),
        "foreseen_steps": Frame(
            ("id", "prompt", "concept", "looked_for", "detector", "step", "share", "undetected"),
            [row for one in part.foreseen for row in _foreseen(one)],
            ("share",),
        ),
    }


def _named(one: EmergenceRecord) -> Sequence[Any]:
    return one.id, one.prompt, one.concept, one.attribute, one.guidance


def _steps(one: EmergenceRecord) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each step; cells are empty where there is no band."""
    none = (None,) * len(one.noise)
    bands = (
        one.mean, one.low, one.high, one.centred, one.centred_low, one.centred_high,
    )  # fmt: skip
    columns = [band or none for band in bands]
    for step, (noise, *values) in enumerate(zip(one.noise, *columns, strict=True), 1):
        yield (*_named(one), step, noise, *values)


def _foreseen(one: ForeseenRecord) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each step and one for the finished images; unknown cells are empty."""
    known = zip_longest(one.shares, one.undetected)
    for step, (share, undetected) in enumerate(known, 1):
        yield (
            one.id, one.prompt, one.concept, one.looked_for, one.detector, step, share, undetected,
        )  # fmt: skip
