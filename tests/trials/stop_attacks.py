"""``t2i research stop`` killed at any moment, and against an endpoint that fails in all ways."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import fakes
import pytest_t2i_origins.commands.stop  # noqa: F401 - loaded before processes are forked
from endpoints import KEY, Endpoint
from leaks import leaks
from processes import Child, ended, start
from small_project import has_traceback, last_lines, made, write
from stop_parts import Echo, WholePicture
from tally import Tally

from pytest_t2i.adapters.registry import Registry
from pytest_t2i.cli.main import main
from pytest_t2i.generation.store.repair import verify_store

WANTED = "0 hangs, 0 lost beyond the batch, 0 damaged, the clusters of an undisturbed search"
BY_HTTP = "none stored asked for again, the key nowhere, no traceback, ends with its clusters"
BATCH, IMAGES, MADE = 4, 48, 8
LONGEST = 300.0
MOST_RUNS = 40
"""Runs against an endpoint: a picture that fails in every try ends one."""
OPTIONS = (
    "--detector", "colour", "--faces", "whole", "--llm", "echo", "--tokens", "2",
    "--images", str(IMAGES), "--made", str(MADE), "--batch", str(BATCH), "--clusters", "2",
    "--concept", "Iranian person", "--out", "out",
)  # fmt: skip


OFFERED: dict[str, dict[str, Callable[..., Any]]] = {
    "detector": {"colour": fakes.detector},
    "encoder": {"clip": fakes.text_encoder},
    "face": {"whole": lambda _: WholePicture()},
    "language": {"echo": lambda _: Echo()},
}


def stop(model: str, *more: str) -> Callable[[], int]:
    """The command as a forked process runs it, with parts that cost nothing."""

    def act() -> int:
        registered = Registry.__init__

        def with_ours(self: Registry, kind: str, local: Any = None) -> None:
            registered(self, kind, {**OFFERED.get(kind, {}), **(local or {})})

        Registry.__init__ = with_ours  # type: ignore[method-assign]
        return main(["research", "stop", "--model", model, *OPTIONS, *more])

    return act


def found(folder: Path) -> Any:
    """What the search came to."""
    return json.loads((folder / "out/origins.json").read_text())


def _environment(folder: Path) -> dict[str, str]:
    return {"FAKE_LOG": str(folder / "made.log")}


def _checked(child: Child, tally: Tally, words: str) -> None:
    tally.check(not child.hung, f"{words}: hung: {last_lines(child.told)}")
    tally.check(not has_traceback(child.told), f"{words}: {last_lines(child.told)}")


def round_of_kills(
    folder: Path, kills: int, expected: Any, random: Random, tally: Tally, words: str
) -> None:
    """One store, killed so many times, then left to finish."""
    write(folder)
    for _ in range(kills):
        target = sum(made(folder).values()) + random.randrange(IMAGES // 2)
        child = start(stop("fakes:fair"), folder, _environment(folder))
        while not child.has_ended() and sum(made(folder).values()) < target:
            time.sleep(0.003)
        time.sleep(random.random() * random.choice((0.0, 0.1, 1.0)))
        if not child.has_ended():
            child.kill()
        child.wait(LONGEST)
        tally.tried("kills of t2i research stop")
        _checked(child, tally, words)
    child = ended(stop("fakes:fair"), folder, LONGEST, environment=_environment(folder))
    _checked(child, tally, words)
    tally.check(child.status == 0, f"{words}: status {child.status}: {last_lines(child.told)}")
    tally.check(child.status == 0 and found(folder) == expected, f"{words}: other clusters")
    counts = made(folder)
    lost = sum(counts.values()) - len(counts)
    tally.check(lost <= kills * BATCH, f"{words}: {lost} images made again after {kills} kills")
    damaged = verify_store(folder / ".t2i").damaged
    tally.check(not damaged, f"{words}: damaged {damaged[:1]}")


def kills(folder: Path, times: int, seed: int = 0) -> Tally:
    """So many kills, three to six of each store."""
    tally, random, number = Tally("kill -9 of t2i research stop", WANTED), Random(seed), 0
    whole = write(folder / "undisturbed")
    child = ended(stop("fakes:fair"), whole, LONGEST, environment=_environment(whole))
    if child.status != 0:
        raise RuntimeError(last_lines(child.told))
    while tally.done < times:
        count = random.randint(3, 6)
        place = folder / f"round {number}"
        round_of_kills(place, count, found(whole), random, tally, f"round {number}")
        number += 1
    return tally


def requests(folder: Path, times: int, seed: int = 0) -> Tally:
    """Searches behind a misbehaving endpoint, until it was asked so often."""
    tally, number = Tally("requests of t2i research stop to a misbehaving endpoint", BY_HTTP), 0
    faults: Counter[str] = Counter()
    while tally.done < times:
        place = write(folder / f"search {number}")
        endpoint = Endpoint(place, seed + 100 * number)
        endpoint.start()
        try:
            _search(place, endpoint, tally, f"search {number}")
        finally:
            endpoint.kill()
        asked = [line for line in endpoint.lines() if line[0] == "asked"]
        faults.update(line[3] for line in asked if line[3])
        tally.tried("requests", len(asked))
        number += 1
    tally.facts["faults"] = ", ".join(f"{count} {name}" for name, count in sorted(faults.items()))
    return tally


def _search(folder: Path, endpoint: Endpoint, tally: Tally, words: str) -> None:
    model = f"openai:m@http://127.0.0.1:{endpoint.port}/v1"
    more = ("--answer-deadline", "8", "--concurrency", "8")
    told: list[str] = []
    for _ in range(MOST_RUNS):
        known, since = set(endpoint.told("delivered")), len(endpoint.lines())
        child = ended(stop(model, *more), folder, LONGEST, environment={"OPENAI_API_KEY": KEY})
        _checked(child, tally, words)
        told.append(child.told)
        again = known & set(endpoint.told("asked", since))
        # The one that ended the run may have been delivered too late.
        tally.check(len(again) <= 8, f"{words}: {len(again)} delivered ones asked for again")
        if child.status == 0:
            break
    tally.check(child.status == 0, f"{words}: no end in {MOST_RUNS} runs: {last_lines(child.told)}")
    tally.check(child.status != 0 or found(folder)["clusters"], f"{words}: no clusters")
    left = leaks(folder, KEY, *told)
    tally.check(not left, f"{words}: the key is left: {left[:3]}")
