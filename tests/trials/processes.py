"""Trials in processes of their own: forked after everything is imported, and ended in time."""

from __future__ import annotations

import os
import signal
import site
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST = 60.0
"""Seconds after which a process hangs."""
UNCAUGHT = 99
"""Exit status of a process that an exception ended."""
LOOK_EVERY = 0.005


@dataclass
class Child:
    """A forked process and what it prints."""

    pid: int
    output: Path
    status: int | None = None
    """Exit status, minus the signal that ended it; None while it runs."""
    hung: bool = False

    @property
    def told(self) -> str:
        """What it printed so far."""
        return self.output.read_text(encoding="utf-8", errors="replace")

    def has_ended(self) -> bool:
        """Whether it ended by now."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status is not None

    def wait(self, longest: float = LONGEST) -> Child:
        """Until it ends; killed with its own children, and called hung, when that takes long."""
        deadline = time.monotonic() + longest
        while not self.has_ended():
            if time.monotonic() > deadline:
                self.hung = True
                self.kill()
            time.sleep(LOOK_EVERY)
        return self

    def kill(self) -> None:
        """SIGKILL for it and whatever it started."""
        os.killpg(self.pid, signal.SIGKILL)


def start(act: Callable[[], Any], folder: Path, environment: dict[str, str] | None = None) -> Child:
    """Act in a forked process that works in a folder; its exit status is what ``act`` returns."""
    handle, name = tempfile.mkstemp(prefix=".told-", dir=folder)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _act(act, folder, environment or {}, handle)
    os.close(handle)
    with suppress(OSError):  # it has done so itself, or has ended
        os.setpgid(pid, pid)
    return Child(pid, Path(name))


def ended(act: Callable[[], Any], folder: Path, longest: float = LONGEST, **how: Any) -> Child:
    """Act in a forked process, to its end."""
    return start(act, folder, **how).wait(longest)


def _act(act: Callable[[], Any], folder: Path, environment: dict[str, str], output: int) -> None:
    """In the child: never returns."""
    status = UNCAUGHT
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        os.environ |= {"COLUMNS": "400", **environment}
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False)
            for number, mode in ((0, "r"), (1, "w"), (2, "w"))
        )
        site.addsitedir(str(folder))
        status = int(act() or 0)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001 - the end of this process
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
