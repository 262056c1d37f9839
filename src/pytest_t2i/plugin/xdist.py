"""Under pytest-xdist: what the controller and its workers tell one another."""

from __future__ import annotations

import base64
import json
import pickle
import threading
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock, Timeout

from pytest_t2i.generation.executors import devices
from pytest_t2i.generation.progress import Follower, Shared
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.plugin.make_images import terminal_progress
from pytest_t2i.runs.early_stopping import stop_at, stopped
from pytest_t2i.runs.make_and_detect import make
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.session import Session, distinct
from pytest_t2i.verdicts.limits_file import LimitFiles

RUN_ID, HANDED_OVER = "t2i_run_id", "t2i"
LOOK_EVERY = 0.5
"""Seconds between looks at a worker's progress."""
WAIT = 0.2
"""Seconds between looks at whether the makers are done."""


class Workers:
    """This process among the others of the run; alone unless xdist is used."""

    def __init__(self, config: pytest.Config, session: Session) -> None:
        self._config, self._session = config, session
        given: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.is_worker = given is not None
        self.are_used = not self.is_worker and getattr(config.option, "dist", "no") != "no"
        self._parts: list[dict[str, str]] = []
        self._over = threading.Event()
        if given is not None:
            session.components.run_id = given[RUN_ID]
        elif self.are_used:
            session.components.run_id = uuid.uuid4().hex

    # controller

    def start(self, node: Any) -> None:
        """Tell a worker which run it belongs to."""
        node.workerinput[RUN_ID] = self._session.components.run_id

    def follow_progress(self) -> None:
        """Show what the workers make, until they are done."""
        follower = Follower(_progress_file(self._session), terminal_progress(self._config))

        def follow() -> None:
            while not self._over.wait(LOOK_EVERY):
                follower.look()

        threading.Thread(target=follow, daemon=True).start()

    def stop(self, node: Any) -> str | None:
        """Keep what a worker did; returns the error that it met."""
        part = getattr(node, "workeroutput", {}).get(HANDED_OVER)
        if part is None:
            return None
        self._parts.append(part)
        return part["error"] or None

    @property
    def have_stopped(self) -> bool:
        """Whether no money was left for what the tests ask for."""
        return any(part["stopped"] for part in self._parts)

    def adopt(self) -> bool:
        """Take over what the workers were asked for and did; False where they made not all."""
        self._over.set()
        if self.are_used:
            with suppress(OSError):
                _progress_file(self._session).unlink(missing_ok=True)
            self._session.store.forget(_made(self._session))
        spent, faults = self._spent(), self._faults()
        if not self._parts:
            return False
        self._session.work = merged(Work(**json.loads(part["work"])) for part in self._parts)
        self._session.work.paid = spent
        self._session.work.faults = faults
        if (mitigating := self._session.components.mitigating()) is not None:
            mitigating.adopt(json.loads(self._parts[0]["counterparts"]))
        tests = unpickled(self._parts[0]["tests"])
        self._session.tests = {test.node_id: test for test in tests}
        self._session.selected = max(int(part["selected"]) for part in self._parts)
        return any(part["is_made"] for part in self._parts)

    def _spent(self) -> int:
        """Requests that all workers together paid for; the run is over, so nobody counts on."""
        spending = self._session.components.spending if self.are_used else None
        if spending is None:
            return 0
        requests = spending.count.requests
        spending.clear()
        return requests

    def _faults(self) -> dict[str, int]:
        """How often the model failed all workers together."""
        if not self.are_used:
            return {}
        counts = self._session.components.faults
        met = counts.counted
        counts.clear()
        return met

    # worker

    def hand_over(self, error: str | None, stopped: str | None, *, is_made: bool) -> None:
        """Give the controller what this worker was asked for and did."""
        output: dict[str, Any] = self._config.workeroutput  # type: ignore[attr-defined]
        mitigating = self._session.components.mitigating()
        output[HANDED_OVER] = {
            "work": json.dumps(asdict(self._session.work)),
            "selected": str(len(self._session.tests)),
            "tests": pickled(distinct(self._session.tests.values())),
            "counterparts": json.dumps({} if mitigating is None else mitigating.known),
            "error": error or "",
            "stopped": stopped or "",
            "is_made": "yes" if is_made else "",
        }


def make_shared(results: Results, limits: LimitFiles) -> None:
    """Make everything together with the other xdist workers.

    One worker per device makes images, the others wait: on one device, two pipelines would only
    take memory from one another. An executor that loads models elsewhere is asked by one worker
    alone, or there were as many of its processes for each. A maker that dies frees its lock, and
    another takes over.
    """
    session = results.session
    done = _made(session)
    folder = session.store.folder / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    while session.store.fact(done) is None:
        for device in _shared_out(session):
            lock = FileLock(folder / f"{device.replace(':', '-')}.lock")
            try:
                with lock.acquire(timeout=0):
                    session.components.device = device
                    make(results, limits, Shared(_progress_file(session)))
                    session.store.remember(done, stopped(session.tests.values()))
                    return
            except Timeout:
                continue
        time.sleep(WAIT)
    stop_at(session, session.store.fact(done))
    session.work.planned = len(results.make_plan())


def _shared_out(session: Session) -> list[str]:
    """The devices that each have a worker that makes images."""
    asked = session.settings.device
    here = session.settings.executor in ("auto", "in-process")
    return devices(asked) if here else [asked]


def _made(session: Session) -> str:
    """Name of the fact that everything is made, with what early stopping came to."""
    return f"made:{session.components.run_id}"


def _progress_file(session: Session) -> Path:
    """Where the worker that makes images tells how far it is."""
    return session.store.folder / "locks" / f"{session.components.run_id}.progress"


def merged(parts: Iterable[Work]) -> Work:
    """What several workers did, added up."""
    total = Work()
    for part in parts:
        total.add(part)
    return total


def pickled(value: Any) -> str:
    """Frozen records as text, for another process of this run."""
    return base64.b64encode(pickle.dumps(value)).decode()


def unpickled(text: str) -> Any:
    """The records of a worker of this run."""
    return pickle.loads(base64.b64decode(text))  # noqa: S301 - written by our own worker
