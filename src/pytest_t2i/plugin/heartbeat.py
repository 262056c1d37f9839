"""Heartbeat of tests that take long, past pytest's capturing."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, suppress

from pytest_t2i.generation.heartbeat import Sign, signs_of_life

ERRORS = 2
"""File descriptor of the error stream."""


class Aside:
    """The error stream as it is before pytest captures what tests write."""

    def __init__(self) -> None:
        try:
            self._stream: int | None = os.dup(ERRORS)
        except OSError:  # a process without one
            self._stream = None

    def signs(self, what: str) -> AbstractContextManager[Sign]:
        """Tell that a step is still at work, as long as it is."""
        return signs_of_life(what, self._write)

    def _write(self, line: str) -> None:
        if self._stream is not None:
            # A test's letter stands before it, on a line that is not over.
            os.write(self._stream, f"\nt2i: {line}\n".encode(errors="replace"))

    def close(self) -> None:
        """Write no more."""
        if self._stream is not None:
            with suppress(OSError):
                os.close(self._stream)
            self._stream = None
