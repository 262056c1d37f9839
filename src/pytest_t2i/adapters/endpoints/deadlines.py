"""A deadline over a whole call, with all of its steps: connections end with it.

The time-outs of an HTTP library limit each step. A server that sends one byte a second stays within
all of them.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Lock, Thread, local
from typing import Any, TypeVar

T = TypeVar("T")
WAITING = "t2i waits for an answer"
"""Prefix of the names of threads that wait for an answer."""
LOGGERS = (
    "httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy", "httpcore.socks",
    "httpx2", "httpcore2.connection", "httpcore2.http11", "openai._base_client",
    "openai._legacy_response",
)  # fmt: skip
"""Loggers of HTTP libraries: addresses, headers and bodies may contain a key."""
_here = local()
"""Thread-local data; ``call`` is the present call of the thread."""


class DeadlinePassedError(Exception):
    """A call was ended at its deadline."""

    def __init__(self, *, has_begun: bool = False) -> None:
        super().__init__()
        self.has_begun = has_begun
        """Whether an answer had begun to arrive."""


class TimedCall:
    """A call with a deadline, and its open connections."""

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds
        self.has_begun = False
        self._sockets: list[socket.socket] = []
        self._lock = Lock()
        self._is_over = False

    def trace(self, event: str, told: Mapping[str, Any]) -> None:
        """Receive an event of a request from httpx (extension ``trace``)."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            with self._lock:
                self._sockets.append(told["return_value"].get_extra_info("socket"))
            if self._is_over:
                self.end()
        elif event.endswith("receive_response_headers.complete"):
            self.has_begun = True

    def end(self) -> None:
        """Shut all connections, so that a thread that reads from one gets the end at once."""
        with self._lock:
            self._is_over = True
            for connection in self._sockets:
                # The method of the plain socket leaves the TLS state to the thread that reads.
                with suppress(OSError):
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def check(self) -> None:
        """Raise DeadlinePassedError where the deadline has passed."""
        if time.monotonic() >= self.until:
            raise DeadlinePassedError(has_begun=True)


def present_call() -> TimedCall | None:
    """The call of this thread; None where it has no deadline."""
    return getattr(_here, "call", None)


def within(seconds: float, call: Callable[[], T]) -> T:
    """Run ``call`` with a deadline; return its result or raise its exception.

    At the deadline DeadlinePassedError is raised. The thread of the call ends then, if its requests
    go through ``HttpClient``; else at the next time-out of a single step. HTTP libraries log
    nothing of the call.

    >>> within(5.0, lambda: "an answer")
    'an answer'
    """
    results: list[T] = []
    raised: list[BaseException] = []
    timed_call = TimedCall(seconds)

    def run() -> None:
        _here.call = timed_call
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again where it was called
            raised.append(error)

    waiting = Thread(target=run, daemon=True, name=f"{WAITING} {seconds:g} s")
    waiting.start()
    waiting.join(seconds)
    if waiting.is_alive():
        timed_call.end()
        raise DeadlinePassedError(has_begun=timed_call.has_begun)
    if raised:
        raise raised.pop()
    return results.pop()


class _NoCalls(logging.Filter):
    """Drops what is logged in the thread of a call."""

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - the thread decides
        return present_call() is None


for _name in LOGGERS:
    logging.getLogger(_name).addFilter(_NoCalls())
