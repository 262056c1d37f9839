"""The number of requests for one picture of an endpoint, and the waits between them."""

from __future__ import annotations

from pytest_t2i.adapters.models.endpoint_faults import BrokenPictureError, PassingFaultError
from pytest_t2i.errors import T2IError

TRIES, TRIES_OF_BROKEN = 8, 3
"""Largest number of requests for one image: to a busy endpoint, and where no picture comes."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""Seconds of the first and the longest wait, where the endpoint demands none; waits double."""


def pause_before_next(told: T2IError, tried: int) -> float | None:
    """Seconds until the next request for an image; None where there is none.

    >>> pause_before_next(PassingFaultError("busy"), 3)
    4.0
    """
    most = TRIES_OF_BROKEN if isinstance(told, BrokenPictureError) else TRIES
    if not isinstance(told, PassingFaultError) or tried >= most:
        return None
    return min(FIRST_WAIT * 2 ** (tried - 1), LONGEST_WAIT) if told.after is None else told.after
