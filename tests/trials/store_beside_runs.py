"""Commands that change a store beside runs that use it, with kills of either: nothing is lost."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from processes import Child, ended, start
from small_project import (
    GIVEN,
    has_traceback,
    last_lines,
    made,
    run_pytest,
    run_t2i,
    verdicts,
    write,
)
from tally import Tally

from pytest_t2i.generation.store.repair import verify_store

WANTED = (
    "0 hangs, 0 tracebacks, no picture lost or made again beyond the batch, 0 damaged, verdicts of "
    "an undisturbed run, the store free afterwards"
)
BATCH = 4
LOST = 2 * BATCH
"""Largest number of pictures in progress where a run is killed."""
LONGEST = 120.0
"""Seconds after which a process hangs: the machine is shared."""
COMMANDS = {
    "repair": ("store", "repair", ".t2i"),
    "prune": ("store", "prune", ".t2i", "--keep-runs", "1"),
    "verify": ("store", "verify", ".t2i"),
}
CHANGES = ("repair", "prune")
"""Commands that need the store for themselves."""
DETECTOR = """
import time
from pathlib import Path

class Slow:
    fingerprint, labels = "slow", ("male", "female")

    def __init__(self):
        self.plain = fakes.detector(None)

    def detect(self, images):
        with Path("looked.log").open("a") as file:
            file.writelines(f"{time.time()}\\n" for _ in images)
        time.sleep(0.02 * len(images))
        return self.plain.detect(images)

_plain_detectors = pytest_t2i_detectors

def pytest_t2i_detectors():
    return _plain_detectors() | {"slow": lambda options: Slow()}
"""
"""A detector as costly as a real one, which says when it looks."""
FIRST = (*GIVEN, "--t2i-batch", str(BATCH))
SLOW = tuple("slow" if text == "colour" else text for text in FIRST)
READING = (*SLOW, "--t2i-batch", str(BATCH))
MAKING = (*READING, "--t2i-seed", "7")
REFUSED = 2
"""Exit status of a command that is refused."""
SIGKILL = -9


def go(folder: Path, rounds: int, seed: int = 49) -> Tally:
    """So many commands beside runs."""
    tally = Tally("store commands beside runs, with kill -9", WANTED)
    base = write(folder / "base")
    environment = {"FAKE_LOG": "made.log"}
    with (base / "conftest.py").open("a") as conftest:
        conftest.write(DETECTOR)
    ended(run_pytest(*FIRST), base, LONGEST, environment=environment)
    expected = {}
    for makes, arguments in ((False, READING), (True, MAKING)):
        whole = folder / f"whole{makes}"
        shutil.copytree(base, whole)
        ended(run_pytest(*arguments), whole, LONGEST, environment=environment)
        expected[makes] = verdicts(whole)
    for number in range(rounds):
        random = Random(f"{seed} {number}")
        place = folder / str(number)
        shutil.copytree(base, place)
        one = _Round(place, f"{seed} {number}", random, tally)
        one.act(expected, made(base))
        shutil.rmtree(place)
    return tally


class _Round:
    """One command beside one run."""

    def __init__(self, folder: Path, seed: str, random: Random, tally: Tally) -> None:
        self.folder, self.seed, self.random, self.tally = folder, seed, random, tally

    def act(self, expected: dict[bool, Any], before: Counter[str]) -> None:
        """Start both, kill one of them or none, and let the run finish."""
        random, environment = self.random, {"FAKE_LOG": "made.log"}
        command = random.choice(list(COMMANDS))
        arguments, makes = random.choice(((READING, False), (MAKING, True)))
        killed = random.choice(("nobody", "nobody", "the run", "the command"))
        self.tally.tried(f"{command} beside a run that {'makes' if makes else 'reads'}")
        self.tally.kinds[f"with {killed} killed"] += 1
        self.words = f"{self.seed}: {command}, makes={makes}, {killed} killed"
        steps = [
            ("run", run_pytest(*arguments), environment),
            ("command", run_t2i(*COMMANDS[command]), {}),
        ]
        if random.random() < 0.2:
            steps.reverse()
        children: dict[str, Child] = {}
        started = 0.0
        for name, act, more in steps:
            started = time.time()
            children[name] = start(act, self.folder, more)
            time.sleep(random.uniform(0, 1.2))
        if killed != "nobody":
            child = children[killed.removeprefix("the ")]
            if not child.has_ended():
                child.kill()
        finished = 0.0
        for name in ("command", "run"):
            child = children[name].wait(LONGEST)
            finished = finished or time.time()
            self.check(not child.hung, f"{name} hung: {last_lines(child.told)}")
            self.check(not has_traceback(child.told), f"{name}: {last_lines(child.told)}")
        self.check(
            children["command"].status in (0, REFUSED, SIGKILL),
            f"status {children['command'].status}: {last_lines(children['command'].told)}",
        )
        looks = self.looks()
        is_beside = len(looks) > 1 and looks[0] < started and finished < looks[-1]
        if is_beside and command in CHANGES:
            self.tally.kinds["while it looks"] += 1
            self.check(children["command"].status, "changed the store while a run looked at it")
        if killed != "the run":
            self.check(
                verdicts(self.folder) == expected[makes],
                f"other verdicts: {last_lines(children['run'].told)}",
            )
        self.finish(arguments, expected[makes], before, killed == "the run")

    def looks(self) -> list[float]:
        """When the detector looked at each picture."""
        log = self.folder / "looked.log"
        return list(map(float, log.read_text().split())) if log.exists() else []

    def finish(self, arguments: Any, expected: Any, before: Counter[str], is_killed: bool) -> None:
        """The same run again, to its end; then nobody holds the store."""
        again = ended(
            run_pytest(*arguments), self.folder, LONGEST, environment={"FAKE_LOG": "made.log"}
        )
        self.check(not again.hung, f"hung: {last_lines(again.told)}")
        self.check(verdicts(self.folder) == expected, f"other verdicts: {last_lines(again.told)}")
        now = made(self.folder)
        twice = sum(now[image] > count for image, count in before.items())
        more = sum(count - 1 for image, count in now.items() if image not in before)
        self.check(not twice, f"{twice} stored pictures made again")
        self.check(more <= (LOST if is_killed else 0), f"{more} pictures lost")
        self.check(verify_store(self.folder / ".t2i").is_whole, "damaged")
        last = ended(run_t2i(*COMMANDS["prune"]), self.folder, LONGEST)
        self.check(last.status == 0, f"still held: {last_lines(last.told)}")
        left = [*(self.folder / ".t2i" / "locks").glob("*.owner")]
        self.check(not left, f"locks left: {left}")

    def check(self, holds: object, words: str) -> None:
        self.tally.check(holds, f"{self.words}: {words}")
