"""Having the plan made: by this process, or by one xdist worker per device for all."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from pytest_t2i.generation.progress import Bar, Lines, Progress, Shared
from pytest_t2i.runs.early_stopping import stop_at, stopped
from pytest_t2i.runs.session import Session

if TYPE_CHECKING:
    import pytest

GPU_FILES = ("nvidia[0-9]*", "dxg")
"""What /dev holds on a machine with an NVIDIA GPU, natively and under WSL."""
WAIT = 0.2
"""Seconds between looks at whether the makers are done."""


def make_once(session: Session, config: pytest.Config) -> None:
    """Make the plan here, showing progress on the terminal."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        session.make(terminal_progress(config))


def make_shared(session: Session) -> None:
    """Make the plan together with the other xdist workers.

    One worker per device makes images, the others wait: on one device, two pipelines would only
    take memory from one another. A maker that dies frees its lock, and another takes over.
    """
    done = f"made:{session.components.run_id}"
    folder = session.store.folder / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    while session.store.fact(done) is None:
        for device in devices(session.settings.device):
            lock = FileLock(folder / f"{device.replace(':', '-')}.lock")
            try:
                with lock.acquire(timeout=0):
                    session.components.device = device
                    session.make(Shared(session.progress_file))
                    session.store.remember(done, stopped(session))
                    return
            except Timeout:
                continue
        time.sleep(WAIT)
    stop_at(session, session.store.fact(done))
    session.plan = session.make_plan()
    session.work.planned = len(session.plan)


def devices(asked: str) -> list[str]:
    """The devices that workers may share out among them."""
    if asked not in ("auto", "cuda"):
        return [asked]
    if sys.platform == "linux" and not any(
        list(Path("/dev").glob(pattern)) for pattern in GPU_FILES
    ):
        return [asked]  # spares a worker that only waits the import of torch
    try:
        import torch
    except ModuleNotFoundError:
        return [asked]
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return [f"cuda:{k}" for k in range(count)] or [asked]


def terminal_progress(config: pytest.Config) -> Progress:
    """A bar on a terminal, plain lines elsewhere."""
    if sys.stdout.isatty():
        return Bar(sys.stdout)
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return Lines(lambda line: print(line, flush=True))  # noqa: T201 - no reporter to print for us

    def write(line: str) -> None:
        reporter.ensure_newline()
        reporter.write_line(line)
        reporter.flush()

    return Lines(write)
