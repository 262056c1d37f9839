"""What detectors say, in words."""

from __future__ import annotations

from pytest_t2i.data import Detection


def reason_words(reason: str) -> str:
    """``no_face`` as words."""
    return reason.replace("_", " ").strip()


def said(detection: Detection) -> str:
    """What a detector says of an image.

    >>> said(Detection("male"))
    'male'
    """
    if detection.undetected is None:
        return detection.label or ""
    return f"undetected, {reason_words(detection.undetected)}"
