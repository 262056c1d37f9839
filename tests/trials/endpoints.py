"""A misbehaving endpoint, kill -9 of either side: no picture is missing, none is asked for twice.

What is in the store is never asked for again. A picture that was delivered and not stored when the
process was killed is: so many at most as are asked for at the same time.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import openai  # noqa: F401 - loaded before processes are forked
from image_server import RATES, SWAPPED, drawn
from installed import python_path
from leaks import leaks
from PIL import Image
from processes import start
from small_project import has_traceback, last_lines, outcome_of, run_pytest, write
from tally import Tally

WANTED = (
    "none missing, nothing that is stored asked for again, each fault named in the report, the key "
    "in none of eight encodings, no traceback"
)
NAMED = {
    "busy": {"busy"},
    "slow": {"late", "unfinished"},
    "broken": {"broken"},
    "policy": {"refused"},
    "dripping": {"unfinished", "late"},
    "endless": {"endless"},
    "dropped": {"dropped"},
    "restart": {"dropped", "unreachable"},
    "policy_in_200": {"refused"},
    "no_wait": {"busy"},
    "no_address": {"broken"},
}
"""How the server fails -> as what the report may count it."""
KEY = "sk-very-secret-0123"
PROMPTS = 10
AT_ONCE = 8
ALL_FAULTS = 300
"""Pictures with which every fault is met."""
MOST_RUNS = 60
"""Runs after the last kill: a picture that fails in every try ends one."""
ROUND, MOST_ROUNDS = 100, 20
"""Pictures more, and how many times at most, until each fault was named in a report."""
LONGEST = 300.0
SUITE = """
import pytest
from pytest_t2i import limit
from pytest_t2i.data import Prompt

PROMPTS = [Prompt(f"a person who is called {{k}}", "name", f"name {{k}}") for k in range({prompts})]

@pytest.mark.t2i(*PROMPTS)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.any", 1.0)
"""
Picture = tuple[str, int]
"""Prompt and seed."""


@dataclass
class Endpoint:
    """The server's process, and what its log says."""

    folder: Path
    seed: int
    is_faultless: bool = False
    starts: int = 0
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What it was asked and delivered."""
        return self.folder / "server.log"

    def start(self) -> None:
        """Start it, at the same port as before."""
        if not self.port:
            with closing(socket.socket()) as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
        command = [sys.executable, str(Path(__file__).with_name("misbehaving.py"))]
        told = [str(self.port), str(self.log), str(self.seed + self.starts)]
        told += ["faultless"] * self.is_faultless
        environment = {**os.environ, "PYTHONPATH": python_path(Path(__file__).parents[1])}
        self.process = subprocess.Popen([*command, *told], env=environment)
        self.starts += 1
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def lines(self) -> list[list[str]]:
        """What is in the log; a line that a kill cut off is none."""
        lines = []
        for line in self.log.read_text().splitlines() if self.log.exists() else ():
            with suppress(ValueError):
                lines.append(json.loads(line))
        return lines

    def told(self, what: str, since: int = 0) -> list[Picture]:
        """Pictures that were asked for, or delivered, after so many lines."""
        return [(line[1], line[2]) for line in self.lines()[since:] if line[0] == what]


@dataclass
class Trial:
    """One store, and a suite that is run until all its pictures are there."""

    folder: Path
    images: int
    endpoint: Endpoint
    tally: Tally
    random: Random
    ended: Counter[str] = field(default_factory=Counter)
    """Why runs ended before their end."""
    told: list[str] = field(default_factory=list)
    """What runs said."""
    named: set[str] = field(default_factory=set)
    """Ways to fail that a finished run has named."""

    def stored(self) -> set[Picture]:
        """What is in the store by now."""
        try:
            return {(prompt, seed) for prompt, seed, *_ in self._rows()}
        except sqlite3.OperationalError:  # it is only being made
            return set()

    def _rows(self) -> list[tuple[str, int, str | None, str | None]]:
        """Of the index: prompt, seed, file, words of a refusal."""
        index = f"file:{self.folder / '.t2i/index.sqlite'}?mode=ro"
        with closing(sqlite3.connect(index, uri=True)) as connection:
            query = "SELECT prompt, seed, file, refusal FROM images"
            return connection.execute(query).fetchall()

    def run(self, until: int | None, *, kill_server: bool = False) -> bool:
        """Run the suite; killed once so many pictures are stored. Whether it came to its end."""
        before, since = self.stored(), len(self.endpoint.lines())
        given = (
            "--t2i-model", f"openai:m@http://127.0.0.1:{self.endpoint.port}/v1",
            "--t2i-detector", "colour", "--t2i-answer-deadline", "8",
            "--t2i-probe=never", "--t2i-concurrency", str(AT_ONCE),
            "--t2i-images", str(self.images // PROMPTS),
        )  # fmt: skip
        child = start(run_pytest(*given), self.folder, {"OPENAI_API_KEY": KEY})
        while until is not None and not child.has_ended() and len(self.stored()) < until:
            time.sleep(0.02)
        if until is not None and not child.has_ended():
            if kill_server:
                self.endpoint.kill()
                self.tally.tried("kills of the server")
                self.endpoint.start()
                time.sleep(self.random.random())
            if not child.has_ended():
                child.kill()
                self.tally.tried("kills of the run")
        child.wait(LONGEST)
        self.tally.check(not child.hung, f"hung: {last_lines(child.told)}")
        self.tally.check(not has_traceback(child.told), last_lines(child.told))
        self.told.append(child.told)
        again = before & set(self.endpoint.told("asked", since))
        self.tally.check(not again, f"{len(again)} stored pictures were asked for again")
        if until is None and child.status in (0, 1, 6):
            self.name_faults(since)
        is_done = child.status is not None and outcome_of(self.folder) not in ("", "INTERRUPTED")
        if child.status == 4:
            self.ended[_cause(child.told)] += 1
            is_done = False
        return is_done and len(self.stored()) == self.images

    def name_faults(self, since: int) -> None:
        """A run that came to its end names what the server did wrong, and nothing else."""
        record = json.loads((self.folder / "reports/t2i/run.json").read_text())
        counted = record["work"]["faults"]
        asked = [line for line in self.endpoint.lines()[since:] if line[0] == "asked"]
        met = {line[3] for line in asked if line[3]}
        for fault in met:
            self.tally.check(NAMED[fault] & set(counted), f"{fault} is not among {counted}")
            self.named.add(fault)
        possible = set().union(*(NAMED[fault] for fault in met))
        self.tally.check(set(counted) <= possible, f"{counted} of {met}")

    def go(self, kills: int) -> None:
        """Kill it so many times, each when some more are there, then let it finish."""
        runs, killed = 0, 0
        while killed < kills and runs < kills + MOST_RUNS:
            share = (killed + self.random.random()) / kills
            target = max(round(0.9 * share * self.images), len(self.stored()) + 1)
            self.run(target, kill_server=killed % 2 == 1)
            runs, killed = runs + 1, self.tally.kinds["kills of the run"]
        while not self.run(None) and runs < MOST_RUNS + kills:
            runs += 1
        if self.images >= ALL_FAULTS:
            self.until_all_are_named()
        self.finish(kills)

    def until_all_are_named(self) -> None:
        """More pictures, of runs that nobody kills, until each way to fail was met and named."""
        for _ in range(MOST_ROUNDS):
            if self.named >= set(RATES):
                break
            self.images += ROUND
            tries = 0
            while not self.run(None) and tries < MOST_RUNS:
                tries += 1
        self.tally.check(self.named >= set(RATES), f"never named: {set(RATES) - self.named}")
        self.tally.facts["named in reports"] = ", ".join(sorted(self.named))

    def finish(self, kills: int) -> None:
        """What came out."""
        tally, stored = self.tally, self.stored()
        tally.check(len(stored) == self.images, f"{self.images - len(stored)} pictures are missing")
        record = json.loads((self.folder / "reports/t2i/run.json").read_text())
        counted = sum(prompt["images"] for prompt in record["prompts"])
        tally.check(counted == self.images, f"the report has {counted} pictures")
        left = leaks(self.folder, KEY, *self.told)
        tally.check(not left, f"the key is left: {left[:3]}")
        delivered = Counter(self.endpoint.told("delivered"))
        lost = sum(delivered.values()) - len(delivered)
        asked = [line for line in self.endpoint.lines() if line[0] == "asked"]
        faults = Counter(line[3] for line in asked if line[3])
        if self.images >= ALL_FAULTS:
            tally.check(set(RATES) <= set(faults), f"never: {set(RATES) - set(faults)}")
        tally.facts |= {
            "faults": ", ".join(f"{count} {name}" for name, count in sorted(faults.items())),
            "requests": str(len(asked)),
            "delivered twice": f"{lost} (late ones included, {kills} kills)",
            "runs that one message ended": str(sum(self.ended.values())),
            "pictures": self._pictures(tally),
        }

    def _pictures(self, tally: Tally) -> str:
        """Each is the one that was asked for, of the first model or of the other."""
        kinds: Counter[str] = Counter()
        for prompt, seed, file, refusal in self._rows():
            if file is None:
                is_broken = str(refusal).startswith("unreadable")
                kinds["unreadable" if is_broken else "refused"] += 1
                continue
            pixels = _pixels(self.folder / ".t2i" / file)
            whose = [own for own in ("", SWAPPED) if pixels == _drawn(f"{prompt}{own}", seed)]
            tally.check(whose, f"{file}: another picture than that of {prompt}, {seed}")
            kinds["of the exchanged model" if whose == [SWAPPED] else "made"] += 1
        return ", ".join(f"{count} {name}" for name, count in sorted(kinds.items()))


def _pixels(file: Path) -> bytes:
    with Image.open(file) as picture:
        return picture.convert("RGB").tobytes()


def _drawn(prompt: str, seed: int) -> bytes:
    from io import BytesIO

    with Image.open(BytesIO(drawn(prompt, seed))) as picture:
        return picture.convert("RGB").tobytes()


def _cause(told: str) -> str:
    lines = [line for line in told.splitlines() if "ERROR" in line]
    return lines[-1][:200] if lines else last_lines(told)


def go(folder: Path, images: int, kills: int, seed: int = 0) -> Tally:
    """A store of so many pictures, behind an endpoint with all faults, killed so many times."""
    tally = Tally(f"{images} pictures of a misbehaving endpoint", WANTED)
    write(folder)
    (folder / "test_suite.py").write_text(SUITE.format(prompts=PROMPTS))
    endpoint = Endpoint(folder, seed)
    endpoint.start()
    try:
        Trial(folder, PROMPTS * (images // PROMPTS), endpoint, tally, Random(seed)).go(kills)
    finally:
        endpoint.kill()
    return tally
