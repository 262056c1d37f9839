"""Heartbeat of a long step: a line after five seconds, then one every ten."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

FIRST, EVERY = 5.0, 10.0
"""Seconds until the first line, and between two lines."""
LAST_LINE = 1.0
"""Seconds to wait for a line that is being written, as its reader may be gone."""


class Ticker:
    """Calls a function at intervals, from its own thread, between start and stop."""

    def __init__(self, tell: Callable[[], None], first: float, every: float) -> None:
        self._tell, self._first, self._every = tell, first, every
        self._over = Event()
        self._thread = Thread(target=self._run, name="t2i signs of life", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join(LAST_LINE)

    def _run(self) -> None:
        wait = self._first
        while not self._over.wait(wait):
            with suppress(OSError, ValueError):  # the reader is gone, or the file is closed
                self._tell()
            wait = self._every


class Sign:
    """The progress line of one step."""

    def __init__(self, what: str, write: Callable[[str], None]) -> None:
        self.now = ""
        """The step's progress, such as "3400 files"; "" where it is unknown."""
        self._what, self._write = what, write
        self._started = time.monotonic()

    def tell(self) -> None:
        state = f"{self.now}, " if self.now else ""
        since = clock_time(time.monotonic() - self._started)
        self._write(f"{self._what}: {state}{since} so far")


def on_stderr(line: str) -> None:
    print(f"t2i: {line}", file=sys.stderr, flush=True)  # noqa: T201 - a command line tool


@contextmanager
def signs_of_life(
    what: str,
    write: Callable[[str], None] = on_stderr,
    *,
    first: float | None = None,
    every: float | None = None,
) -> Iterator[Sign]:
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
