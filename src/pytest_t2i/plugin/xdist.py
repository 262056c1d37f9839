"""Exchange between the controller and the workers of pytest-xdist."""

from __future__ import annotations

import base64
import json
import pickle
import threading
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from filelock import FileLock, Timeout

from pytest_t2i.adapters.support.escaping import line
from pytest_t2i.data import FactKind, Outcome
from pytest_t2i.errors import printable
from pytest_t2i.generation.executors import devices
from pytest_t2i.generation.progress import Follower, Shared
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.plugin.make_images import progress_of_pytest
from pytest_t2i.runs.early_stopping import stop_at, stopped
from pytest_t2i.runs.make_and_detect import make_and_detect
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.selection import SelectedTest, Selection
from pytest_t2i.runs.session import Session
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.limits_file import LimitFiles
from pytest_t2i.verdicts.measurement import Compared

RUN_ID, HANDED_OVER = "t2i_run_id", "t2i"
LOOK_EVERY = 0.5
"""Seconds between looks at a worker's progress."""
WAIT = 0.2
"""Seconds between checks of whether the workers that make images are done."""


class Workers:
    """This process and the other processes of the run; it is the only one without xdist."""

    def __init__(self, config: pytest.Config, session: Session) -> None:
        self._config, self._session = config, session
        worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.is_worker = worker_input is not None
        self.are_used = not self.is_worker and getattr(config.option, "dist", "no") != "no"
        self._parts: list[dict[str, str]] = []
        self._over = threading.Event()
        if worker_input is not None:
            session.components.run_id = worker_input[RUN_ID]
        elif self.are_used:
            session.components.run_id = uuid.uuid4().hex

    # controller

    def start(self, node: Any) -> None:
        """Send the run's identity to a worker."""
        node.workerinput[RUN_ID] = self._session.components.run_id

    def follow_progress(self) -> None:
        """Show the workers' progress until they are done."""
        follower = Follower(_progress_file(self._session), progress_of_pytest(self._config))

        def follow() -> None:
            while not self._over.wait(LOOK_EVERY):
                follower.look()

        threading.Thread(target=follow, daemon=True).start()

    def stop(self, node: Any) -> str | None:
        """Keep the counts of a worker that has ended; return its error."""
        part = getattr(node, "workeroutput", {}).get(HANDED_OVER)
        if part is None:
            return None
        self._parts.append(part)
        return part["error"] or None

    @property
    def have_stopped(self) -> bool:
        """Whether the budget did not suffice for the tests' images."""
        return any(part["stopped"] for part in self._parts)

    def adopt(self) -> bool:
        """Add the workers' needs and counts to the session; return False if images are missing."""
        self._over.set()
        if self.are_used:
            with suppress(OSError):
                _progress_file(self._session).unlink(missing_ok=True)
            self._session.store.forget(_made(self._session))
        judged, spent, faults = self._judged(), self._spent(), self._faults()
        if not self._parts:
            return False
        self._session.work = merged(Work(**json.loads(part["work"])) for part in self._parts)
        self._session.work.paid, self._session.work.judge_paid = spent, judged
        self._session.work.faults = faults
        if (mitigating := self._session.components.mitigating()) is not None:
            mitigating.adopt(json.loads(self._parts[0]["counterparts"]))
        tests = _unpickled(self._parts[0]["tests"])
        self._session.tests = {test.node_id: test for test in tests}
        self._session.selected = max(int(part["selected"]) for part in self._parts)
        return any(part["is_made"] for part in self._parts)

    def _judged(self) -> int:
        """Return how many requests to judges all workers paid for together."""
        spending = self._session.components.judge_spending if self.are_used else None
        if spending is None:
            return 0
        judged = spending.count.judged
        if self._session.components.spending is None:
            spending.clear()
        return judged

    def _spent(self) -> int:
        """Return how many requests all workers paid for together; the run is over."""
        spending = self._session.components.spending if self.are_used else None
        if spending is None:
            return 0
        requests = spending.count.requests
        spending.clear()
        return requests

    def _faults(self) -> dict[str, int]:
        """Return the model's failures in all workers together."""
        if not self.are_used:
            return {}
        counts = self._session.components.faults
        met = counts.counted
        counts.clear()
        return met

    # worker

    def hand_over(self, error: str | None, stopped: str | None, *, is_made: bool) -> None:
        """Send the needs and counts of this worker to the controller."""
        output: dict[str, Any] = self._config.workeroutput  # type: ignore[attr-defined]
        mitigating = self._session.components.mitigating()
        output[HANDED_OVER] = {
            "work": json.dumps(asdict(self._session.work)),
            "selected": str(len(self._session.tests)),
            "tests": pickled(_sharing(self._session.tests.values())),
            "counterparts": json.dumps({} if mitigating is None else mitigating.known),
            "error": error or "",
            "stopped": stopped or "",
            "is_made": "yes" if is_made else "",
        }


def _sharing(tests: Iterable[SelectedTest]) -> list[SelectedTest]:
    """Return the tests with one object for equal selections, which is then pickled once."""
    selections: dict[Selection, Selection] = {}
    return [
        replace(test, selection=selections.setdefault(test.selection, test.selection))
        for test in tests
    ]


def make_shared(results: Results, limits: LimitFiles) -> None:
    """Make all images together with the other xdist workers.

    One worker per device makes images and the others wait, because two pipelines on one device
    would compete for memory. Only one worker uses an executor that loads models elsewhere;
    otherwise each worker would start its processes. If a worker dies, its lock is released and
    another worker takes over.
    """
    session = results.session
    fact_name = _made(session)
    folder = session.store.folder / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    while session.store.fact(fact_name) is None:
        for device in _shared_out(session):
            lock = FileLock(folder / f"{device.replace(':', '-')}.lock")
            try:
                with lock.acquire(timeout=0):
                    session.components.device = device
                    make_and_detect(results, limits, Shared(_progress_file(session)))
                    session.store.remember(fact_name, stopped(session.tests.values()))
                    return
            except Timeout:
                continue
        time.sleep(WAIT)
    stop_at(session, session.store.fact(fact_name))
    session.work.planned = len(results.make_plan())


def _shared_out(session: Session) -> list[str]:
    """Return the devices on each of which one worker makes images."""
    device = session.settings.device
    here = session.settings.executor in ("auto", "in-process")
    return devices(device) if here else [device]


def _made(session: Session) -> str:
    """Return the name of the stored fact that all images of the run are made."""
    return FactKind.MADE.of(session.components.run_id)


def _progress_file(session: Session) -> Path:
    """Return the file to which the worker that makes images writes its progress."""
    return session.store.folder / "locks" / f"{session.components.run_id}.progress"


def merged(parts: Iterable[Work]) -> Work:
    """Return the sum of several workers' counts."""
    total = Work()
    for part in parts:
        total.add(part)
    return total


def pickled(value: Any) -> str:
    """Return frozen records as text, for another process of this run."""
    return base64.b64encode(pickle.dumps(value)).decode()


def _unpickled(text: str) -> Any:
    """Return the records that another process of this run has written."""
    return pickle.loads(base64.b64decode(text))  # noqa: S301 - written by our own worker


CHECKS = pytest.StashKey[list[Check]]()
"""Stash key of an item: the checks that the test made."""
COMPARED = pytest.StashKey[list[Compared]]()
"""Stash key of an item: the records of the values that the test compared."""
INCONCLUSIVE_STATUS = ("inconclusive", "?", ("INCONCLUSIVE", {"yellow": True}))
"""Pytest's category, letter and word for a test with an inconclusive check."""


def note(item: pytest.Item, check: Check) -> None:
    """Keep a check with the test that made it, and as a JUnit property."""
    item.user_properties.append((line(f"t2i {check.metric} {check.subject}"), one_line(check)))
    item.stash.setdefault(CHECKS, []).append(check)


def keep(item: pytest.Item, compared: Compared) -> None:
    """Keep the record of a compared value with its test."""
    item.stash.setdefault(COMPARED, []).append(compared)


def clear_checks(item: pytest.Item) -> None:
    """Clear the checks of a test before it runs, as it may run again."""
    item.stash[CHECKS] = []
    item.stash[COMPARED] = []
    item.user_properties[:] = [p for p in item.user_properties if not p[0].startswith("t2i ")]


def attach(report: Any, item: pytest.Item, *, is_worker: bool) -> None:
    """Add the checks and records to the test's report, as plain types, which is all xdist sends."""
    checks = item.stash.get(CHECKS, [])
    report.t2i_checks = json.loads(json.dumps([asdict(check) for check in checks]))
    compared = item.stash.get(COMPARED, [])
    report.t2i_compared = pickled(compared) if is_worker else compared


def checks_of(report: Any) -> list[Check]:
    """Return the checks of a report."""
    return msgspec.convert(getattr(report, "t2i_checks", []), list[Check])


def gather(report: Any, session: Session) -> None:
    """Add the checks of a report to the run; those of a repeated test replace the earlier ones."""
    # xdist itself writes the report of a crashed worker: it holds no verdict.
    was_run, is_again = hasattr(report, "t2i_marked"), report.nodeid in session.judged
    if was_run and (report.when == "call" or not report.passed):
        session.judged.add(report.nodeid)
    if report.when == "call" and is_again:
        session.checks[:] = [check for check in session.checks if check.test != report.nodeid]
        session.failed_otherwise[:] = [n for n in session.failed_otherwise if n != report.nodeid]
    checks = checks_of(report)
    session.checks += checks
    if report.when == "call" and was_run:
        compared = report.t2i_compared
        session.compared[report.nodeid] = (
            _unpickled(compared) if isinstance(compared, str) else compared
        )
    explained = any(_fails(check, session.settings.inconclusive) for check in checks)
    if report.failed and getattr(report, "t2i_marked", True) and not explained:
        session.failed_otherwise.append(report.nodeid)
        session.failed_because[report.nodeid] = _first_line(report)


def sort_by_test(session: Session) -> None:
    """Put the checks and failures of a run in the order of its tests, whichever ended first."""
    places = {node: place for place, node in enumerate(session.tests)}
    last = len(places)
    session.checks.sort(key=lambda check: places.get(check.test, last))
    session.failed_otherwise.sort(key=lambda node: places.get(node, last))


def _first_line(report: Any) -> str:
    """Return the first line of pytest's reason for a failure; "" if there is none."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(report.longrepr) if crash is None else str(crash.message)
    return printable(next((line for line in text.splitlines() if line.strip()), ""))


def _fails(check: Check, policies: tuple[str, str]) -> bool:
    """Tell whether a check is a reason for its test to fail."""
    if check.outcome is Outcome.INCONCLUSIVE:
        return policies[check.weighs_on_run] in ("fail", "estimate")
    return check.outcome is Outcome.FAIL


def status_of(report: Any) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Return how pytest shows a passed test with an inconclusive check; None for other tests."""
    if report.when != "call" or not report.passed:
        return None
    inconclusive = any(c.outcome is Outcome.INCONCLUSIVE for c in checks_of(report))
    return INCONCLUSIVE_STATUS if inconclusive else None


def one_line(check: Check) -> str:
    """Return a verdict as the value of a JUnit property."""
    if check.estimate is None:
        return f"{check.outcome} (no evidence) {check.operator} {check.bound:g}"
    interval = f"{check.estimate:.4f} [{check.low:.4f}, {check.high:.4f}]"
    return f"{check.outcome} {interval} {check.operator} {check.bound:g} n={check.n}"
