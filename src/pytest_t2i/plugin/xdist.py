"""Work that the controller and the workers of pytest-xdist share out and hand over."""

from __future__ import annotations

import signal
import threading
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from filelock import Timeout

from pytest_t2i.adapters.endpoints.paid_requests import is_orphan, work_for_parent
from pytest_t2i.data import FactKind
from pytest_t2i.files import FileLock
from pytest_t2i.generation.progress import Follower, Shared
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.plugin.checks import pickled, unpickled
from pytest_t2i.plugin.make_images import progress_of_pytest
from pytest_t2i.runs.session.early_stopping import stop_at, stopped
from pytest_t2i.runs.session.make_and_detect import make_and_detect
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.selection import SelectedTest, Selection
from pytest_t2i.runs.session.session import Session
from pytest_t2i.verdicts.limits_file import LimitFiles

RUN_ID, HANDED_OVER = "t2i_run_id", "t2i"
LOOK_EVERY = 0.5
"""Seconds between looks at a worker's progress."""
WAIT = 0.2
"""Seconds between checks of whether the workers that make images are done."""


class HandedOver(NamedTuple):
    """What a worker leaves to the controller at its end."""

    work: Work
    tests: list[SelectedTest]
    counterparts: dict[str, tuple[str, ...]]
    """Texts of prompts -> their counterparts, as the run's mitigation knows them."""
    error: str | None
    stopped: str | None
    """Why it skipped its tests, if the budget was spent."""
    is_made: bool


class Workers:
    """This process and the other processes of the run; it is the only one without xdist."""

    def __init__(self, config: pytest.Config, session: Session) -> None:
        self._config, self._session = config, session
        worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.is_worker = worker_input is not None
        self.are_used = not self.is_worker and getattr(config.option, "dist", "no") != "no"
        self._parts: list[HandedOver] = []
        self._over = threading.Event()
        if worker_input is not None:
            session.components.run_id = worker_input[RUN_ID]
            work_for_parent()
            threading.Thread(target=_stop_with_controller, daemon=True).start()
        elif self.are_used:
            session.components.run_id = uuid.uuid4().hex

    # controller

    def start(self, node: Any) -> None:
        """Send the run's identity to a worker."""
        node.workerinput[RUN_ID] = self._session.components.run_id

    def follow_progress(self) -> None:
        follower = Follower(_progress_file(self._session), progress_of_pytest(self._config))

        def follow() -> None:
            while not self._over.wait(LOOK_EVERY):
                follower.look()

        threading.Thread(target=follow, daemon=True).start()

    def stop(self, node: Any) -> str | None:
        """Keep the counts of a worker that has ended; return its error."""
        text = getattr(node, "workeroutput", {}).get(HANDED_OVER)
        if text is None:
            return None
        part: HandedOver = unpickled(text)
        self._parts.append(part)
        return part.error

    @property
    def have_stopped(self) -> bool:
        """Whether the budget did not suffice for the tests' images."""
        return any(part.stopped for part in self._parts)

    def adopt(self) -> bool:
        """Add the workers' needs and counts to the session; return False if images are missing."""
        self._over.set()
        if not self.are_used:
            return False
        with suppress(OSError):
            _progress_file(self._session).unlink(missing_ok=True)
        self._session.store.forget(_made(self._session))
        counted = self._counted()
        if not self._parts:
            return False
        self._session.work = _merged(part.work for part in self._parts)
        self._session.work.paid, self._session.work.judge_paid, self._session.work.faults = counted
        if (mitigating := self._session.components.mitigating()) is not None:
            mitigating.adopt(self._parts[0].counterparts)
        self._session.tests = {test.node_id: test for test in self._parts[0].tests}
        self._session.selected = max(len(part.tests) for part in self._parts)
        return any(part.is_made for part in self._parts)

    def _counted(self) -> tuple[int, int, dict[str, int]]:
        """Return what all workers paid for, pictures and judgements, and the failures they met."""
        if not self.are_used:
            return 0, 0, {}
        components = self._session.components
        spending = components.spending or components.judge_spending
        paid = (0, 0) if spending is None else spending.count[:2]
        faults = components.counts.faults
        components.counts.clear()
        return *paid, faults

    # worker

    def hand_over(self, error: str | None, stopped: str | None, *, is_made: bool) -> None:
        """Send the needs and counts of this worker to the controller."""
        output: dict[str, Any] = self._config.workeroutput  # type: ignore[attr-defined]
        mitigating = self._session.components.mitigating()
        output[HANDED_OVER] = pickled(
            HandedOver(
                self._session.work,
                _sharing(self._session.tests.values()),
                {} if mitigating is None else dict(mitigating.known),
                error,
                stopped,
                is_made,
            )
        )


def _stop_with_controller() -> None:
    """Interrupt this worker as Ctrl+C does when its controller was killed."""
    while not is_orphan():
        time.sleep(WAIT)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _sharing(tests: Iterable[SelectedTest]) -> list[SelectedTest]:
    """Return the tests with one object for equal selections, which is then pickled once."""
    selections: dict[Selection, Selection] = {}
    return [
        replace(test, selection=selections.setdefault(test.selection, test.selection))
        for test in tests
    ]


def make_shared(results: Results, limits: LimitFiles) -> None:
    """Make all images together with the other xdist workers.

    One worker makes images, on every GPU by the executor, and the others wait: two pipelines on
    one device would compete for memory. If it dies, another worker takes over its lock.
    """
    session = results.session
    fact_name = _made(session)
    folder = session.store.folder / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    while session.store.fact(fact_name) is None:
        try:
            with FileLock(folder / "making", timeout=0):
                make_and_detect(results, limits, Shared(_progress_file(session)))
                session.store.remember(fact_name, stopped(session.tests.values()))
                return
        except Timeout:
            time.sleep(WAIT)
    stop_at(session, session.store.fact(fact_name))
    session.work.planned = len(results.make_plan())


def _made(session: Session) -> str:
    """Return the name of the stored fact that all images of the run are made."""
    return FactKind.MADE.of(session.components.run_id)


def _progress_file(session: Session) -> Path:
    return session.store.folder / "locks" / f"{session.components.run_id}.progress"


def _merged(parts: Iterable[Work]) -> Work:
    """Return the sum of several workers' counts."""
    total = Work()
    for part in parts:
        total.add(part)
    return total
