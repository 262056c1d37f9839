"""The price of further images: their number, and their time at the rate of this run."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_t2i.generation import ready_made
from pytest_t2i.generation.heartbeat import clock_time
from pytest_t2i.runs.session import Session
from pytest_t2i.verdicts.check import Check


def price(session: Session, images: int) -> str:
    """Return the price of this number of images per prompt beyond those of the run, in words."""
    have, work = session.images_wanted().values(), session.work
    more = sum(max(0, images - count) for count in have)
    if not work.made or not work.seconds:
        return f"{more} more images"
    seconds = work.seconds_per_image or work.seconds / work.made
    return f"{more} more images, {clock_time(more * seconds)} here"


def price_of_both(session: Session, images: int) -> str:
    """Return the price when the baseline's model needs as many images as the run, in words."""
    if has_ready_pictures(session):
        return "in the folder of the baseline and in this one"
    return f"then and now ({price(session, images)}, and as many of the baseline's model)"


def has_ready_pictures(session: Session) -> bool:
    """Whether the model has ready-made pictures and makes none."""
    return ready_made.is_ready_made(session.components.model())


def counted_checks(checks: Sequence[Check]) -> str:
    """Return a text such as ``1 check`` or ``2 checks``."""
    return "1 check" if len(checks) == 1 else f"{len(checks)} checks"
