"""A store damaged in every way: it is noticed, said, and healed or repairable; never silent."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from processes import Child, ended
from small_project import GIVEN, has_traceback, last_lines, run_pytest, run_t2i, verdicts, write
from tally import Tally

from pytest_t2i.errors import StoreError
from pytest_t2i.generation.store.repair import verify_store

WANTED = "each noticed, said, healed or repairable; 0 silent"
USAGE = 4
SECOND = ("--t2i-detector", "colour,second")
REMEDIES = ("t2i store repair", "free some space", "--t2i-store", "run again", "store verify")
"""What a message tells to do, one of them."""
INDEX, PICTURE, ARRAY = "index.sqlite", "picture", "array"
SIZE = "800k"
"""Of a disk that a store does not fit on."""


@dataclass(frozen=True)
class Damage:
    """One way of damaging a store, and of taking an obstacle away again."""

    name: str
    do: Callable[[Path, Random], Any]
    undo: Callable[[Path], Any] = lambda _: None


def some_file(store: Path, kind: str, random: Random) -> Path:
    """A file of this kind."""
    pattern = {PICTURE: "images/*/*.png", ARRAY: "arrays/*/*.safetensors"}.get(kind, kind)
    return random.choice(sorted(store.glob(pattern)))


def _changed(kind: str, change: Callable[[bytes, Random], bytes], keep_time: bool) -> Any:
    def do(store: Path, random: Random) -> None:
        file = some_file(store, kind, random)
        status = file.stat()
        content = change(file.read_bytes(), random)
        file.write_bytes(content)
        if keep_time:
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    return do


def _flipped(content: bytes, random: Random) -> bytes:
    place = random.randrange(len(content))
    return (
        content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]
    )


CHANGES: dict[str, Callable[[bytes, Random], bytes]] = {
    "truncated": lambda content, random: content[: random.randrange(len(content))],
    "emptied": lambda _, __: b"",
    "flipped": _flipped,
    "zeroed": lambda content, _: bytes(len(content)),
    "replaced by text": lambda _, __: b"no picture at all\n",
}


def _removed(kind: str) -> Any:
    return lambda store, random: some_file(store, kind, random).unlink()


def _hidden(kind: str) -> Damage:
    """A folder stands where the file was: it cannot be read, whoever asks."""

    def do(store: Path, random: Random) -> None:
        file = some_file(store, kind, random)
        file.rename(file.with_name(f"{file.name}.aside"))
        file.mkdir()

    def undo(store: Path) -> None:
        for aside in store.rglob("*.aside"):
            file = aside.with_name(aside.name.removesuffix(".aside"))
            if file.is_dir():
                file.rmdir()
            aside.replace(file)

    return Damage(f"{kind} unreadable", do, undo)


def _swapped(store: Path, random: Random) -> None:
    """Another picture of ours, whole, under a wrong name."""
    first, second = random.sample(sorted(store.glob("images/*/*.png")), 2)
    shutil.copy(second, first)


def _folder_gone(name: str) -> Any:
    return lambda store, _: shutil.rmtree(store / name)


def _clock_back(store: Path, _: Random) -> None:
    """Everything is of next year."""
    later = time.time() + 365 * 86_400
    for file in store.rglob("*"):
        os.utime(file, (later, later))


def damages() -> Iterator[Damage]:
    """Every way."""
    for kind in (PICTURE, ARRAY, INDEX):
        for name, change in CHANGES.items():
            yield Damage(f"{kind} {name}", _changed(kind, change, keep_time=False))
        yield Damage(f"{kind} flipped, its time kept", _changed(kind, _flipped, keep_time=True))
        yield Damage(f"{kind} removed", _removed(kind))
        yield _hidden(kind)
    yield Damage("pictures exchanged", _swapped)
    yield Damage("no pictures", _folder_gone("images"))
    yield Damage("no arrays", _folder_gone("arrays"))
    yield Damage("no locks", _folder_gone("locks"))
    yield Damage("clock back", _clock_back)


class Bench:
    """A finished project, copied for every damage, and what undisturbed runs of it say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.whole = write(folder / "whole")
        self.expected = {more: self._expected(more) for more in ((), SECOND)}

    def _expected(self, more: tuple[str, ...]) -> Any:
        child = self.run(self.whole, more)
        if child.hung or has_traceback(child.told):
            raise RuntimeError(last_lines(child.told))
        shutil.copytree(self.whole, self.folder / f"seen by {len(more)}", dirs_exist_ok=True)
        return verdicts(self.whole)

    def run(self, place: Path, more: tuple[str, ...]) -> Child:
        """The suite."""
        return ended(run_pytest(*GIVEN, *more), place)

    def copy(self, name: str) -> Path:
        """The project as one detector has seen it."""
        place = self.folder / name
        shutil.copytree(self.folder / "seen by 0", place, symlinks=True)
        return place


def heal(
    bench: Bench, place: Path, more: tuple[str, ...], undo: Callable[[Path], Any]
) -> list[str]:
    """Go on as a user would who follows the messages; what went wrong on the way."""
    faults = []
    store = place / ".t2i"
    for _ in range(3):
        child = bench.run(place, more)
        faults += _faults(child)
        if child.status != USAGE:
            break
        if "t2i store repair" in child.told:
            repaired = ended(run_t2i("store", "repair", str(store)), place)
            faults += [] if repaired.status in (0, 1) else [f"repair: {last_lines(repaired.told)}"]
        else:
            undo(store)
    for _ in range(2):
        try:
            damaged = verify_store(store)
        except StoreError:
            undo(store)
            continue
        if not damaged.damaged and not damaged.absent:
            break
        faults += _faults(bench.run(place, more))
    if verdicts(place) != bench.expected[more]:
        faults.append("silent: other verdicts")
    return faults


def _faults(child: Child) -> list[str]:
    """A message without a remedy, a traceback, a hang."""
    faults = ["hung"] if child.hung else []
    if has_traceback(child.told):
        faults.append(f"traceback: {last_lines(child.told)}")
    if child.status == USAGE and not any(remedy in child.told for remedy in REMEDIES):
        faults.append(f"no remedy: {last_lines(child.told)}")
    if child.status not in (0, 1, USAGE, 6):
        faults.append(f"status {child.status}: {last_lines(child.told)}")
    return faults


def full_disk(bench: Bench, number: int, tally: Tally) -> None:
    """A disk that is full half-way, and then is not; and one that may only be read."""
    place = write(bench.folder / f"full {number}")
    disk = place / "disk"
    disk.mkdir()
    size = f"{100 + 60 * number}k"
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk], check=False
    ).returncode:
        tally.facts["disks"] = "no right to mount any"
        return
    try:
        child = bench.run(place, ("--t2i-store", "disk/t2i"))
        tally.tried("disk full")
        words = f"full disk of {size}: "
        for fault in _faults(child):
            tally.check(False, f"{words}{fault}")
        tally.check(
            child.status != USAGE or "full" in child.told, f"{words}{last_lines(child.told)}"
        )
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        after = bench.run(place, ("--t2i-store", "disk/t2i"))
        tally.check(verdicts(place) == bench.expected[()], f"{words}{last_lines(after.told)}")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        child = bench.run(place, ("--t2i-store", "disk/t2i"))
        tally.tried("read-only")
        for fault in _faults(child):
            tally.check(False, f"read-only: {fault}")
    finally:
        libc = ctypes.CDLL(None)
        libc.umount2(os.fsencode(disk), 2)


def go(folder: Path, times: int, seed: int = 0) -> Tally:
    """So many damages, every way in turn, seen by the same detector or by a further one."""
    tally = Tally("corruptions", WANTED)
    bench = Bench(folder)
    random = Random(seed)
    ways = list(damages())
    for number in range(min(5, max(1, times // 20))):
        full_disk(bench, number, tally)
    number = 0
    while tally.done < times:
        damage = ways[number % len(ways)]
        place = bench.copy(f"damaged {number}")
        damage.do(place / ".t2i", random)
        more = ((), SECOND)[number % 2]
        tally.tried(damage.name)
        for fault in heal(bench, place, more, partial(damage.undo)):
            tally.check(False, f"{damage.name}, number {number}: {fault}")
        shutil.rmtree(place, ignore_errors=True)
        number += 1
    return tally
