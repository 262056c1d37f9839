"""Lines on the error stream while a test takes long, although pytest captures output."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, suppress

from pytest_t2i.generation.heartbeat import Sign, signs_of_life

ERRORS = 2
"""File descriptor of the error stream."""


class Aside:
    """The error stream, opened before pytest captures the output of tests."""

    def __init__(self) -> None:
        try:
            self._stream: int | None = os.dup(ERRORS)
        except OSError:  # a process without one
            self._stream = None

    def signs(self, what: str) -> AbstractContextManager[Sign]:
        """Write a line from time to time while a step is at work."""
        return signs_of_life(what, self._write)

    def _write(self, line: str) -> None:
        if self._stream is not None:
            # The letters of earlier tests may stand on the current line.
            os.write(self._stream, f"\nt2i: {line}\n".encode(errors="replace"))

    def close(self) -> None:
        """Close the stream."""
        if self._stream is not None:
            with suppress(OSError):
                os.close(self._stream)
            self._stream = None
