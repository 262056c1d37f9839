"""Next steps for undetected images: refused, black, unreadable or without a label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_t2i.data import Undetected
from pytest_t2i.runs.price import counted_checks, is_ready_made
from pytest_t2i.runs.record import PromptRecord
from pytest_t2i.runs.session import Session
from pytest_t2i.verdicts.check import Check

NO_PICTURE = (Undetected.REFUSED, Undetected.BLACK_IMAGE, Undetected.UNREADABLE)
"""Reasons that neither another detector nor people can remedy."""
Reasons = Counter[Undetected]
"""Reason -> number of images."""


def undetected_of(session: Session, prompts: Sequence[PromptRecord]) -> Reasons:
    """Count the images without a label by the deciding detector, per reason."""
    reasons: Reasons = Counter()
    for prompt in prompts:
        for counts in list(prompt.counts.values())[:1]:
            reasons.update(counts.undetected)
    if not prompts and session.work.refused:
        # A run of triplets or stereotypes alone has no detections, only counts of refused images.
        ready = session.has_model and is_ready_made(session)
        reasons[Undetected.UNREADABLE if ready else Undetected.REFUSED] = session.work.refused
    return reasons


def no_pictures(session: Session, reasons: Reasons) -> Iterator[str]:
    """Yield the advice for refused, black and unreadable images."""
    ready = session.has_model and is_ready_made(session)
    refused, black, unreadable = (reasons[reason] for reason in NO_PICTURE)
    if refused:
        yield (
            f"the model refused {_images(refused)}: reword these prompts, or switch off its "
            "filter for the test"
        )
    if black and ready:
        yield f"{_images(black)} of the folder {_are(black)} black: have them made again"
    elif black:
        yield (
            f"{_images(black)} {_are(black)} black, as filters and numbers that overflow leave "
            "them: switch the filter off, or try --t2i-dtype float32"
        )
    if unreadable:
        yield f"{_images(unreadable)} cannot be read: replace the files, or delete them"


def more_labels(session: Session, hanging: Sequence[Check], reasons: Reasons) -> Iterator[str]:
    """Yield the advice for checks that more labels could decide, by a detector or by people."""
    seen = reasons.total() - sum(reasons[reason] for reason in NO_PICTURE)
    if not hanging or (reasons and seen * 2 < reasons.total()):
        return
    verb = "hangs" if len(hanging) == 1 else "hang"
    people = ", or have people label them (`t2i sample`, `t2i label`)" if session.has_model else ""
    yield (
        f"{counted_checks(hanging)} {verb} on undetected images: take a detector that labels "
        f"more (--t2i-detector){people}"
    )


def _images(count: int) -> str:
    return "1 image" if count == 1 else f"{count} images"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
