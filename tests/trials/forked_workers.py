"""xdist workers that are forked, not started: they know everything that is imported already.

A worker that starts anew imports for seconds; what it does afterwards, and how it dies, is the
same.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from execnet.gateway_io import Popen2IOMaster

WORKERS = "workers.txt"
"""Process ids of the workers of a run, in a file of its folder, in the order of their start."""


class Standby:
    """A process that waits for what execnet sends to a new Python; looks like a Popen."""

    def __init__(self, others: list[Standby]) -> None:
        ours, self._theirs = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _serve(ours, self._theirs, others)
        os.close(ours[0])
        os.close(self._theirs[1])
        self.stdin = os.fdopen(ours[1], "wb", 0)
        self.stdout = os.fdopen(self._theirs[0], "rb", 0)

    def wait(self) -> int:
        """As Popen does."""
        try:
            return os.waitpid(self.pid, 0)[1]
        except ChildProcessError:
            return 0

    def kill(self) -> None:
        """As Popen does."""
        os.kill(self.pid, signal.SIGKILL)


def _serve(given: tuple[int, int], taken: tuple[int, int], others: list[Standby]) -> None:
    """In the new process: never returns."""
    status = 1
    try:
        for other in others:
            other.stdin.close()
            other.stdout.close()
        os.dup2(given[0], 0)
        os.dup2(taken[1], 1)
        for end in (*given, *taken):
            os.close(end)
        sys.stdin = os.fdopen(0, "r", 1, closefd=False)
        sys.stdout = os.fdopen(1, "w", 1, closefd=False)
        line = _line()
        if line:
            with Path(WORKERS).open("a", encoding="utf-8") as file:
                file.write(f"{os.getpid()}\n")
            exec(eval(line), {"__name__": "__main__"})
        status = 0
    except BaseException:  # noqa: BLE001 - the end of this process
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _line() -> str:
    """One line, and not a byte more: the rest is execnet's."""
    read = b""
    while not read.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return ""
        read += byte
    return read.decode()


def prepare(count: int) -> None:
    """Let the next xdist run of this process take forked workers, so many at most."""
    standby: list[Standby] = []
    for _ in range(count):
        standby.append(Standby(standby))
    Path(WORKERS).unlink(missing_ok=True)

    def begin(self: Any, arguments: Any, execmodel: Any) -> None:
        del arguments
        self.popen = standby.pop(0)
        io = (self.popen.stdin, self.popen.stdout)
        super(Popen2IOMaster, self).__init__(*io, execmodel=execmodel)

    Popen2IOMaster.__init__ = begin
