"""A server on this machine whose answers have no end, or come one byte at a time, or never."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
WAYS = ("endless_body", "dripping_body", "dripping_headers", "silent", "packed")
"""Ways to keep a client busy."""


class DrippingServer:
    """Takes connections and answers each in one way."""

    def __init__(self, way: str) -> None:
        self._way, self._ended = way, threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.connections = 0
        self._another = threading.Condition()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._ended.is_set():
                connection, _ = self._socket.accept()
                with self._another:
                    self.connections += 1
                    self._another.notify_all()
                self._threads.append(threading.Thread(target=self._serve, args=[connection]))
                self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65536)
            getattr(self, f"_{self._way}")(connection)

    def _endless_body(self, connection: socket.socket) -> None:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        while not self._ended.is_set():
            connection.sendall(piece)

    def _dripping_body(self, connection: socket.socket) -> None:
        connection.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n")
        self._drip(connection, b"{")

    def _dripping_headers(self, connection: socket.socket) -> None:
        connection.sendall(HEAD + b"X-Long: ")
        self._drip(connection, b"x")

    def _drip(self, connection: socket.socket, byte: bytes) -> None:
        while not self._ended.wait(0.05):
            connection.sendall(byte)

    def _silent(self, connection: socket.socket) -> None:
        self._ended.wait()

    def _packed(self, connection: socket.socket) -> None:
        body = gzip.compress(b" " * 50_000_000)
        told = f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(HEAD + told.encode() + body)

    def wait_for(self, connections: int) -> bool:
        """Wait until so many were taken: a busy machine counts them late."""
        with self._another:
            return self._another.wait_for(lambda: self.connections >= connections, 10)

    def close(self) -> None:
        """Let every connection go."""
        self._ended.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(5)


@contextmanager
def dripping(way: str) -> Iterator[DrippingServer]:
    """A server that answers in this way."""
    server = DrippingServer(way)
    try:
        yield server
    finally:
        server.close()
