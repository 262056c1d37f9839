"""kill -9 at any moment: nothing hangs, at most the batch in flight is lost, verdicts stay."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from forked_workers import WORKERS
from processes import Child, ended, start
from small_project import (
    GIVEN,
    has_traceback,
    last_lines,
    made,
    outcome_of,
    run_pytest,
    verdicts,
    write,
)
from tally import Tally

from pytest_t2i.generation.store.repair import verify_store

WANTED = "0 hangs, 0 lost beyond the batch, 0 damaged, verdicts of an undisturbed run"
BATCH = 4
LONGEST = 120.0
"""Seconds after which a run hangs: the machine is shared."""
ORPHANS = 60.0
"""Seconds in which workers end whose controller was killed."""


@dataclass(frozen=True)
class Kind:
    """What is killed, and how it is seen whether the result is the same."""

    name: str
    act: Callable[[], Any]
    result: Callable[[Path], Any]
    images: int
    """That it makes, about."""
    roles: tuple[str, ...] = ("process",)


RUN = (*GIVEN, "--t2i-batch", str(BATCH))
ALONE = (
    Kind("serial, triplets and traces", run_pytest(*RUN), verdicts, 48),
    Kind("--t2i-sequential", run_pytest(*RUN, "--t2i-sequential"), verdicts, 48),
)
WITH_WORKERS = (
    Kind(
        "-n 2", run_pytest(*RUN, "-n", "2"), verdicts, 48,
        ("making worker", "waiting worker", "controller", "all"),
    ),
)  # fmt: skip


def fresh(folder: Path) -> Path:
    """A project without a store."""
    return write(folder)


def environment(folder: Path) -> dict[str, str]:
    """Where the model tells what it makes."""
    return {"FAKE_LOG": str(folder / "made.log")}


def undisturbed(folder: Path, kind: Kind) -> tuple[Any, int]:
    """The result of a run that nobody kills, and its exit status."""
    child = ended(kind.act, fresh(folder), LONGEST, environment=environment(folder))
    if child.hung or has_traceback(child.told):
        raise RuntimeError(f"{kind.name}: {last_lines(child.told)}")
    return kind.result(folder), child.status or 0


def round_of_kills(folder: Path, kind: Kind, role: str, kills: int, random: Random, tally: Tally,
                   expected: tuple[Any, int], seed: str) -> None:  # fmt: skip
    """One store, killed so many times, then left to finish."""
    fresh(folder)
    for _ in range(kills):
        target = sum(made(folder).values()) + random.randrange(kind.images)
        child = start(kind.act, folder, environment(folder))
        _until(child, folder, target, random)
        _kill(child, folder, role)
        child.wait(LONGEST)
        tally.tried(kind.name if role == "process" else f"{kind.name} {role}")
        tally.check(
            not child.hung, f"{seed}: hung after {role} was killed: {last_lines(child.told)}"
        )
        tally.check(_are_gone(_workers(folder)), f"{seed}: workers outlive their {role}")
        allowed = {expected_outcome(expected), "INTERRUPTED", "FAIL", ""}
        if kind.result is verdicts:
            tally.check(outcome_of(folder) in allowed, f"{seed}: {outcome_of(folder)} when killed")
    child = ended(kind.act, folder, LONGEST, environment=environment(folder))
    tally.check(not child.hung, f"{seed}: the next run hung")
    tally.check(not has_traceback(child.told), f"{seed}: {last_lines(child.told)}")
    result = kind.result(folder) if not child.hung else None
    same = (result, child.status) == expected
    tally.check(same, f"{seed}: other verdicts or status {child.status}: {last_lines(child.told)}")
    counts = made(folder)
    lost = sum(counts.values()) - len(counts)
    tally.check(lost <= kills * BATCH, f"{seed}: {lost} images made again after {kills} kills")
    damaged = verify_store(folder / ".t2i").damaged
    tally.check(not damaged, f"{seed}: damaged {damaged[:1]}")


def expected_outcome(expected: tuple[Any, int]) -> str:
    """The outcome of the undisturbed run."""
    return str(expected[0].get("outcome", ""))


def _until(child: Child, folder: Path, target: int, random: Random) -> None:
    """Wait until so many images are made, and now and then a little longer."""
    while not child.has_ended() and sum(made(folder).values()) < target:
        time.sleep(0.003)
    if random.random() < 0.3:
        deadline = time.monotonic() + random.random()
        while not child.has_ended() and time.monotonic() < deadline:
            time.sleep(0.01)


def _workers(folder: Path) -> list[int]:
    file = folder / WORKERS
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def _kill(child: Child, folder: Path, role: str) -> None:
    """SIGKILL for the process that has this role."""
    if child.has_ended():
        return
    log = folder / "made.log"
    makers = (
        {int(line.split()[0]) for line in log.read_text().splitlines()} if log.exists() else set()
    )
    workers = _workers(folder)
    making = [pid for pid in workers if pid in makers]
    waiting = [pid for pid in workers if pid not in makers]
    chosen = {
        "process": [child.pid],
        "controller": [child.pid],
        "making worker": making[-1:] or workers[:1],
        "waiting worker": waiting[:1] or workers[-1:],
        "all": [child.pid, *workers],
    }[role]
    for pid in chosen:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _are_gone(pids: Sequence[int]) -> bool:
    """Whether orphans end by themselves."""
    deadline = time.monotonic() + ORPHANS
    while time.monotonic() < deadline:
        if not [pid for pid in pids if _runs(pid)]:
            return True
        time.sleep(0.02)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return False


def _runs(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def go(
    folder: Path,
    kills: int,
    kinds: Sequence[Kind],
    tally: Tally,
    *,
    seed: int = 0,
    tell: Callable[[Tally], object] = lambda _: None,
) -> Tally:
    """So many kills over these kinds and their roles, four to eight of each store.

    ``tell`` is told after every store.
    """
    random = Random(seed)
    cases = [(kind, role) for kind in kinds for role in kind.roles]
    expected = {
        kind.name: undisturbed(folder / f"undisturbed {n}", kind) for n, kind in enumerate(kinds)
    }
    number = 0
    while tally.done < kills:
        kind, role = cases[number % len(cases)]
        place = folder / f"round {number}"
        act = partial(round_of_kills, place, kind, role, random.randint(4, 8), random, tally)
        act(expected[kind.name], f"round {number} ({kind.name}, {role})")
        tell(tally)
        number += 1
    return tally
