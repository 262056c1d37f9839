"""Limits on answers over HTTP: a total deadline, and the size of the body.

The time-outs of an HTTP library limit each step. A server that sends one byte a second, or an
endless body, stays within all of them.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock, Thread, local
from typing import Any, TypeVar

T = TypeVar("T")
WAITING = "t2i waits for an answer"
"""Prefix of the names of threads that wait for an answer."""
CUT = "pytest_t2i.cut"
"""Key of a response's extensions: the body exceeded the limit."""
PLAIN = {"accept-encoding": "identity"}
"""Headers that request an uncompressed answer, as the size limit counts uncompressed bytes."""


CLIENTS = ("http", "openai", "huggingface_hub")
"""Prefixes of the loggers of HTTP libraries."""


class DeadlinePassedError(Exception):
    """A call was ended at its deadline."""

    def __init__(self, *, has_begun: bool = False) -> None:
        super().__init__()
        self.has_begun = has_begun
        """Whether an answer had begun to arrive."""


class _Call:
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
            self._connected(told["return_value"].get_extra_info("socket"))
        elif event.endswith("receive_response_headers.complete"):
            self.has_begun = True

    def end(self) -> None:
        """Shut all connections, so that a thread that reads from one gets the end at once."""
        with self._lock:
            self._is_over = True
            for connection in self._sockets:
                _shut(connection)

    def _connected(self, connection: socket.socket) -> None:
        with self._lock:
            self._sockets.append(connection)
            if self._is_over:
                _shut(connection)


def _shut(connection: socket.socket) -> None:
    # The method of the plain socket leaves the TLS state to the thread that reads from it.
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


_here = local()
"""Thread-local data; ``call`` is the present call of the thread."""


def end_with_call(request: Any) -> None:
    """A request hook of httpx that ends the connection with the call, even during the headers.

    Each request has its own connection, as each call has its own deadline.
    """
    call = getattr(_here, "call", None)
    if call is not None:
        request.headers["connection"] = "close"
        request.extensions = {**request.extensions, "trace": call.trace}


def time_left() -> float | None:
    """Seconds left to the call of this thread; None where it has no deadline."""
    call = getattr(_here, "call", None)
    return None if call is None else call.until - time.monotonic()


def is_late() -> bool:
    """Whether the deadline of this thread's call has passed."""
    left = time_left()
    return left is not None and left <= 0.0


class _CutStream:
    """A body's stream that ends at the size limit or at the deadline of the call."""

    def __init__(self, response: Any, most_bytes: int) -> None:
        self._response, self._left = response, most_bytes
        self._stream: Any = response.stream

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                self._response.extensions[CUT] = True
                return
            if is_late():
                raise DeadlinePassedError(has_begun=True)
            yield chunk

    def close(self) -> None:
        self._stream.close()


def cut_at(most_bytes: int) -> Callable[[Any], None]:
    """A response hook of httpx that ends a body after so many bytes; see ``is_cut``."""

    def hook(response: Any) -> None:
        # Compressed answers are not unpacked: a few bytes may become very many.
        response.headers.pop("content-encoding", None)
        # Both httpx and its successor httpx2 check that a stream is of their own class.
        base = next(c for c in type(response.stream).__mro__ if c.__name__ == "SyncByteStream")
        cut = type("CutStream", (_CutStream, base), {})
        response.stream = cut(response, most_bytes)

    return hook


def is_cut(response: Any) -> bool:
    """Whether the body was longer than the limit."""
    return bool(response.extensions.get(CUT))


def within(seconds: float, call: Callable[[], T], give_up: Callable[[], object]) -> T:
    """Run ``call`` with a deadline; return its result or raise its exception.

    At the deadline ``give_up`` is called and DeadlinePassedError is raised. The thread of the call
    ends then, if its requests have ``end_with_call`` as a hook; else at the next bytes of the
    answer, or at the next time-out of a single step.

    >>> within(5.0, lambda: "an answer", give_up=lambda: None)
    'an answer'
    """
    results: list[T] = []
    raised: list[BaseException] = []

    timed_call = _Call(seconds)

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
        give_up()
        raise DeadlinePassedError(has_begun=timed_call.has_begun)
    if raised:
        raise raised.pop()
    return results.pop()


class _Silence:
    """Disables loggers while at least one request is running."""

    def __init__(self) -> None:
        self._lock, self._requests = Lock(), 0
        self._silenced: list[logging.Logger] = []

    def begin(self) -> None:
        # A copy, as other threads make loggers: a lazy import may do so during any request.
        names = [name for name in list(logging.root.manager.loggerDict) if name.startswith(CLIENTS)]
        with self._lock:
            self._requests += 1
            # Loggers that were made since the first request began are disabled, too.
            for logger in map(logging.getLogger, ("httpx", "httpcore", *names)):
                if not logger.disabled:
                    logger.disabled = True
                    self._silenced.append(logger)

    def end(self) -> None:
        with self._lock:
            self._requests -= 1
            if not self._requests:
                for logger in self._silenced:
                    logger.disabled = False
                self._silenced.clear()


_silence = _Silence()


@contextmanager
def unlogged() -> Iterator[None]:
    """Disable the logs of HTTP libraries: addresses, headers and bodies may contain a key.

    Loggers belong to the whole process: they stay disabled until the last request has ended.
    """
    _silence.begin()
    try:
        yield
    finally:
        _silence.end()
