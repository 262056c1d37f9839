"""Signs of life of a step that takes its time: a line after five seconds, then every ten."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

FIRST, EVERY = 5.0, 10.0
"""Seconds until the first line, and between two."""
LAST_LINE = 1.0
"""Seconds that a line which is being written is waited for: its reader may be gone."""


class Ticker:
    """Calls something at intervals, from a thread of its own, between start and stop."""

    def __init__(self, tell: Callable[[], None], first: float, every: float) -> None:
        self._tell, self._first, self._every = tell, first, every
        self._over = Event()
        self._thread = Thread(target=self._run, name="t2i signs of life", daemon=True)

    def start(self) -> None:
        """Begin to wait for the first interval."""
        self._thread.start()

    def stop(self) -> None:
        """Call no more."""
        self._over.set()
        self._thread.join(LAST_LINE)

    def _run(self) -> None:
        wait = self._first
        while not self._over.wait(wait):
            with suppress(OSError, ValueError):  # nobody reads any more, or the file is closed
                self._tell()
            wait = self._every


class Sign:
    """What a step says of itself while it is at work."""

    def __init__(self, what: str, write: Callable[[str], None]) -> None:
        self.now = ""
        """How far it is, as in "3400 files"; "" where it cannot say."""
        self._what, self._write = what, write
        self._started = time.monotonic()

    def tell(self) -> None:
        """Give one line."""
        known = f"{self.now}, " if self.now else ""
        since = clock_time(time.monotonic() - self._started)
        self._write(f"{self._what}: {known}{since} so far")


def on_stderr(line: str) -> None:
    """A line beside the output."""
    print(f"t2i: {line}", file=sys.stderr, flush=True)  # noqa: T201 - a command line tool


@contextmanager
def signs_of_life(
    what: str,
    write: Callable[[str], None] = on_stderr,
    *,
    first: float | None = None,
    every: float | None = None,
) -> Iterator[Sign]:
    """Tell that a step is still at work, as long as it is.

    Args:
        what: the step.
        write: takes a line, and says whose it is.
        first: seconds until the first line; None takes five.
        every: seconds between two; None takes ten.
    """
    sign = Sign(what, write)
    ticker = Ticker(sign.tell, first or FIRST, every or EVERY)
    ticker.start()
    try:
        yield sign
    finally:
        ticker.stop()


def clock_time(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss.

    >>> clock_time(75), clock_time(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
