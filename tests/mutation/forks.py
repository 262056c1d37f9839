"""Tests are imported and collected once; each mutant meets its tests in a fork of its own.

A fork begins where collection ended: no table is solved or cached yet, and nothing that a mutant
leaves behind reaches the next. Which test meets which function is learnt first.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest.runner import runtestprotocol

HERE = Path(__file__).resolve()
DIED, LIVES, UNTESTED = "died", "lives", "no test meets it"
LEARNT = Path("learnt.json")
"""In the copy: which tests meet which function, and what they take."""
PATIENCE, SLOWER = 30.0, 8.0
"""Seconds that a mutant gets, and how many times what its tests take: then it runs for ever."""


class Fate(NamedTuple):
    fate: str
    by: str
    """The test that noticed."""


class Met(NamedTuple):
    tests: dict[str, list[str]]
    """Function -> ids of the tests that call it."""
    seconds: dict[str, float]
    """Test -> what it takes."""


def fates(copy: Path, arguments: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, Fate]]:
    """Let each mutant of the copy meet its tests, in a process that imports the copy."""
    read, write = os.pipe()
    paths = [str(copy / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    work = subprocess.Popen(
        [sys.executable, str(HERE), str(write), json.dumps([list(arguments), list(names)])],
        cwd=copy, env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)}, pass_fds=[write],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(write)
    with os.fdopen(read) as lines:
        for line in lines:
            name, *fate = json.loads(line)
            yield name, Fate(*fate)
    if work.wait() != 0:
        sys.exit("tests were not run, or fail without a mutant: see above")


def main(write: str, work: str) -> int:
    """In the copy: one line of JSON for each mutant."""
    arguments, names = json.loads(work)
    with os.fdopen(int(write), "w") as pipe:

        def told(name: str, fate: Fate) -> None:
            print(json.dumps([name, *fate]), file=pipe, flush=True)

        loop = _Loop(names, told)
        pytest.main(["-q", "--rootdir=.", "--tb=native", *arguments], plugins=[loop])
    return 0 if loop.done else 1


class _Loop:
    """In place of pytest's own: forks."""

    def __init__(self, names: Sequence[str], told: Callable[[str, Fate], None]) -> None:
        self.names, self.told, self.done = names, told, False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.collect()
        gc.freeze()
        items = {item.nodeid: item for item in session.items}
        met = _learnt(session.items)
        for name in self.names:
            tests = met.tests.get(name.rpartition("__mutmut_")[0], [])
            quickest = sorted(tests, key=met.seconds.__getitem__)
            limit = PATIENCE + SLOWER * sum(met.seconds[test] for test in tests)
            self.told(name, _fate(name, [items[test] for test in quickest], limit))
        self.done = True
        return True


def _fate(name: str, items: Sequence[pytest.Item], limit: float) -> Fate:
    if not items:
        return Fate(UNTESTED, "")
    status, by = _forked(lambda tell: _first_failure(name, items, tell), limit)
    return Fate(LIVES, "") if status == 0 else Fate(DIED, by or "time or a crash")


def _first_failure(name: str, items: Sequence[pytest.Item], tell: Callable[[str], None]) -> int:
    _choose(name)
    for item, following in pairwise([*items, None]):
        if any(r.failed for r in runtestprotocol(item, nextitem=following, log=False)):
            tell(item.nodeid)
            return 1
    return 0


def _learnt(items: Sequence[pytest.Item]) -> Met:
    """Which test meets which function; as a run that was cut short had learnt it, if there was one.

    A test that fails without a mutant, such as one that compares sources, is left out and named.
    """
    if LEARNT.is_file():
        return Met(*json.loads(LEARNT.read_text(encoding="utf-8")))
    told = _forked(lambda tell: _learn(items, tell), 3600.0)[1]
    LEARNT.write_text(told, encoding="utf-8")
    return Met(*json.loads(told))


def _learn(items: Sequence[pytest.Item], tell: Callable[[str], None]) -> int:
    from mutmut.state import state

    _choose("stats")
    caches = [x for x in gc.get_objects() if isinstance(x, functools._lru_cache_wrapper)]
    tests: dict[str, list[str]] = {}
    seconds: dict[str, float] = {}
    for item, following in pairwise([*items, None]):
        for cache in caches:  # what one test had solved, the next would not meet
            cache.cache_clear()
        state()._stats.clear()
        start = time.perf_counter()
        if any(r.failed for r in runtestprotocol(item, nextitem=following, log=False)):
            print(f"fails without a mutant: {item.nodeid}", file=sys.stderr, flush=True)
            continue
        seconds[item.nodeid] = time.perf_counter() - start
        for function in state()._stats:
            tests.setdefault(function, []).append(item.nodeid)
    tell(json.dumps([tests, seconds]))
    return 0


def _choose(name: str) -> None:
    from mutmut.mutation.trampoline import set_mutant_under_test

    set_mutant_under_test(name)


def _forked(work: Callable[[Callable[[str], None]], int], limit: float) -> tuple[int, str]:
    """Status of the work in a process of its own, and what it told."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 2
        try:
            os.close(read)
            signal.alarm(int(limit))
            with os.fdopen(write, "w") as pipe:
                status = work(lambda text: (pipe.write(text), None)[1])
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        told = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), told


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
