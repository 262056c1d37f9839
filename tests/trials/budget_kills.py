"""kill -9 of runs behind an endpoint that share a budget: nothing is paid beyond it, nothing lost.

A run may spend its budget and no more, however many workers make its images. A killed run loses the
pictures that it was asking for, so many at most as are asked for at the same time.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import openai  # noqa: F401 - loaded before processes are forked
from endpoints import KEY, PROMPTS, SUITE, Endpoint, Picture
from forked_workers import WORKERS
from leaks import leaks
from processes import Child, start
from small_project import has_traceback, last_lines, outcome_of, run_pytest, verdicts, write
from tally import Tally

WANTED = (
    "0 requests beyond a run's budget, 0 stored pictures asked for again, 0 lost beyond those in "
    "progress, 0 hangs, 0 tracebacks, the key in no file, verdicts of an undisturbed run"
)
IMAGES = 200
AT_ONCE = 4
KILLS = 5
"""Kills of one store."""
LONGEST = 120.0
ROLES = ("controller", "worker", "all")
UNDECIDED = (0, 1, 6)
"""Exit statuses of a run that came to its end."""


@dataclass
class Budgets:
    """One store behind a faultless endpoint."""

    folder: Path
    endpoint: Endpoint
    workers: int
    random: Random
    tally: Tally

    def stored(self) -> set[Picture]:
        """The pictures in the store."""
        index = f"file:{self.folder / '.t2i/index.sqlite'}?mode=ro"
        try:
            with closing(sqlite3.connect(index, uri=True)) as connection:
                return set(connection.execute("SELECT prompt, seed FROM images"))
        except sqlite3.OperationalError:  # it is only being made
            return set()

    def run(self, budget: int, kill: str | None) -> Child:
        """Run the suite with a budget for so many requests, and kill it where a role is given."""
        before, since = self.stored(), len(self.endpoint.lines())
        given = (
            "--t2i-model", f"openai:m@http://127.0.0.1:{self.endpoint.port}/v1",
            "--t2i-detector", "colour", "--t2i-probe=never", "--t2i-concurrency", str(AT_ONCE),
            "--t2i-images", str(IMAGES // PROMPTS), "--t2i-price", "0.04 USD",
            "--t2i-budget", f"{0.04 * budget:.2f} USD",
            *(("-n", str(self.workers)) if self.workers else ()),
        )  # fmt: skip
        child = start(run_pytest(*given), self.folder, {"OPENAI_API_KEY": KEY})
        if kill:
            target = len(before) + self.random.randrange(1, max(2, budget))
            while not child.has_ended() and len(self.stored()) < target:
                time.sleep(0.003)
            self._kill(child, kill)
        child.wait(LONGEST)
        where = f"{self.workers} workers, {kill} killed"
        asked = self.endpoint.told("asked", since)
        self.tally.check(not child.hung, f"{where}: hung: {last_lines(child.told)}")
        self.tally.check(not has_traceback(child.told), f"{where}: {last_lines(child.told)}")
        self.tally.check(len(asked) <= budget, f"{where}: {len(asked)} requests of {budget}")
        again = before & set(asked)
        self.tally.check(not again, f"{where}: {len(again)} stored pictures asked for again")
        return child

    def _kill(self, child: Child, role: str) -> None:
        if child.has_ended():
            return
        file = self.folder / WORKERS
        workers = [int(line) for line in file.read_text().split()] if file.exists() else []
        chosen = {
            "controller": [child.pid],
            "worker": [self.random.choice(workers)] if workers else [child.pid],
            "all": [child.pid, *workers],
        }[role]
        for pid in chosen:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.tally.tried(f"kills of {role}, -n {self.workers}")

    def go(self) -> None:
        """Kill it some times, then spend a budget that is too small, then finish."""
        started = len(self.endpoint.lines())
        for _ in range(KILLS):
            left = IMAGES - len(self.stored())
            self.run(max(4, self.random.randrange(left + 1)), self.random.choice(ROLES))
            if self.workers:
                self._wait_for_workers()
        small = max(1, (IMAGES - len(self.stored())) // 2)
        self.run(small, None)
        child = self.run(IMAGES, None)
        self.tally.check(child.status in UNDECIDED, f"the last run: {last_lines(child.told)}")
        self.tally.check(len(self.stored()) == IMAGES, f"{IMAGES - len(self.stored())} are missing")
        asked = len(self.endpoint.told("asked", started))
        most = IMAGES + KILLS * AT_ONCE * max(1, self.workers)
        self.tally.check(asked <= most, f"{asked} requests for {IMAGES} pictures, {KILLS} kills")
        self.tally.check(outcome_of(self.folder) != "INTERRUPTED", "the last run is interrupted")
        left = leaks(self.folder, KEY, child.told)
        self.tally.check(not left, f"the key is left: {left[:3]}")

    def _wait_for_workers(self) -> None:
        """Workers end by themselves once their controller is gone."""
        file = self.folder / WORKERS
        pids = file.read_text().split() if file.exists() else []
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline and any(Path(f"/proc/{pid}").exists() for pid in pids):
            time.sleep(0.02)
        self.tally.check(
            not any(Path(f"/proc/{pid}").exists() for pid in pids), "workers outlive their run"
        )


def go(folder: Path, kills: int, seed: int = 4) -> Tally:
    """So many kills, over stores of one process and of four workers in turn."""
    tally = Tally("kill -9 of runs that share a budget", WANTED)
    random = Random(seed)
    expected: dict[int, object] = {}
    number = 0
    while tally.done < kills:
        workers = (0, 4)[number % 2]
        place = write(folder / f"round {number}")
        (place / "test_suite.py").write_text(SUITE.format(prompts=PROMPTS))
        endpoint = Endpoint(place, seed, is_faultless=True)
        endpoint.start()
        try:
            Budgets(place, endpoint, workers, random, tally).go()
        finally:
            endpoint.kill()
        found = verdicts(place)
        tally.check(found == expected.setdefault(0, found), f"round {number}: other verdicts")
        number += 1
    return tally
