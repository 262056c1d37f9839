"""What is kept beside pictures, on a disk that is full, or that may not be written any more.

Traces of latents, maps of attention, answers of a language model; with a clock set back, too. It is
said, nothing that was kept is lost, and the next run comes to what an undisturbed one does.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from processes import Child, ended, start
from small_project import GIVEN, has_traceback, last_lines, made, run_pytest, run_t2i, verdicts
from small_project import write as write_project
from tally import Tally

WANTED = "0 hangs, 0 tracebacks, each said, the next run as an undisturbed one"
DISK = "disk"
LONGEST = 240.0
REMEDIES = (
    "full",
    "no permission to write",
    "read-only",
    "readonly",
    "cannot be written",
    "--t2i-",
)
"""What a message says or tells to do, one of them."""
MODEL = """
import numpy as np
import fakes
from pytest_t2i.data import Generated
from dataclasses import replace
from pytest_t2i.prompts.words_in_prompts import attention_words


class Attentive(fakes.FakeModel):
    \"\"\"Looks at every word alike, a little more at the first.\"\"\"

    def _one(self, request):
        made = super()._one(request)
        if "attention" not in request.observe:
            return made
        words = attention_words(request.prompt)
        maps = np.full((len(words), 16, 16), 0.1, np.float16)
        maps[0] += 0.1 * (request.seed % 7)
        return replace(made, trace=replace(made.trace, attention=maps))


def attentive(options):
    return Attentive(0.5, "attentive")


class Scribe:
    fingerprint = "scribe"

    def answer(self, question, schema=None):
        import json, re, time
        time.sleep(0.02)
        word = re.search(r"a picture of (.+?) at work:", question)[1]
        return json.dumps({"sentence": f"{word} at work in the morning"})


def scribe(options):
    return Scribe()
"""
ATTENTION = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.object.only("book", "cup"), axes.profession.only("nurse", "chef"), images=4)
def test_groups(dependencies):
    assert dependencies.highest_bias_score("explicitly_guided") <= limit("object_bias_score", 0.9)
"""
TRACES = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE, images=6)
def test_gap(triplets):
    assert abs(triplets.similarity_gap("denoising")) <= limit("similarity_gap.denoising")
"""


@dataclass(frozen=True)
class Kind:
    """What is kept, by which command, and what that comes to."""

    name: str
    act: Callable[[], Any]
    result: Callable[[Path], Any]
    suite: str = ""
    full: str = "300k"
    """Size of a disk that it does not fit on."""


def _sentences(folder: Path) -> str:
    return (folder / DISK / "sentences.toml").read_text()


STORE = ("--t2i-store", f"{DISK}/t2i")
FINDER = ("--t2i-objects", "things")
KINDS = (
    Kind("traces", run_pytest(*GIVEN, *STORE), verdicts, TRACES, "200k"),
    Kind(
        "attention",
        run_pytest("--t2i-model", "parts:attentive", *GIVEN[2:4], *STORE, *FINDER),
        verdicts, ATTENTION, "250k",
    ),
    Kind(
        "language model",
        run_t2i("research", "sentences", "--llm", "parts:scribe", "--axis", "wu.science",
                "--out", f"{DISK}/sentences.toml"),
        _sentences, "", "4k",
    ),
)  # fmt: skip


def obey_rights() -> None:
    """Give up what lets root write where nobody may: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""
    libc = ctypes.CDLL(None, use_errno=True)
    version_and_pid, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(version_and_pid, sets):
        raise OSError(ctypes.get_errno(), "capget")
    for which in range(3):
        sets[which] &= ~0b110
    if libc.capset(version_and_pid, sets):
        raise OSError(ctypes.get_errno(), "capset")


def _environment(folder: Path) -> dict[str, str]:
    return {"FAKE_LOG": str(folder / "made.log")}


def project(folder: Path, kind: Kind) -> Path:
    """A project of this kind, whose store lies in a folder ``disk``."""
    write_project(folder)
    (folder / "parts.py").write_text(MODEL)
    if kind.suite:
        (folder / "test_suite.py").write_text(kind.suite)
    (folder / DISK).mkdir(exist_ok=True)
    return folder


@contextmanager
def disk(folder: Path, size: str) -> Iterator[Callable[[str], bool]]:
    """A disk of that size; gives what mounts it anew. None where nobody may mount."""

    def mount(options: str) -> bool:
        how = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder / DISK)]
        return subprocess.run(how, check=False, capture_output=True).returncode == 0

    if not mount(f"size={size}"):
        raise PermissionError("no right to mount any disk")
    try:
        yield lambda options: mount(f"remount,{options}")
    finally:
        ctypes.CDLL(None).umount2(os.fsencode(folder / DISK), 2)


class Attack:
    """One kind in one state."""

    def __init__(self, kind: Kind, folder: Path, expected: Any, tally: Tally, words: str) -> None:
        self.kind, self.folder, self.expected = kind, folder, expected
        self.tally, self.words = tally, words

    def checked(self, child: Child, *, may_fail: bool = True) -> Child:
        """What holds of every run; one that could not write says why."""
        check = self.tally.check
        check(not child.hung, f"{self.words}: hung")
        check(not has_traceback(child.told), f"{self.words}: {last_lines(child.told)}")
        if child.status not in (0, 1, 6):
            is_said = any(remedy in child.told for remedy in REMEDIES)
            check(may_fail and is_said, f"{self.words}: {child.status} {last_lines(child.told)}")
        return child

    def run(self) -> Child:
        """One run."""
        environment = _environment(self.folder)
        return ended(self.kind.act, self.folder, LONGEST, environment=environment)

    def healed(self) -> None:
        """The obstacle is gone: the next run comes to what is expected."""
        self.checked(self.run(), may_fail=False)
        try:
            same = self.kind.result(self.folder) == self.expected
        except (OSError, ValueError) as error:
            self.tally.check(False, f"{self.words}: no result: {error}")
        else:
            self.tally.check(same, f"{self.words}: another result")

    def full(self) -> None:
        """A disk that is full half-way, and then is not."""
        with disk(self.folder, self.kind.full) as again:
            child = self.checked(self.run())
            self.tally.check(
                child.status in (0, 1, 6) or "full" in child.told,
                f"{self.words}: {last_lines(child.told)}",
            )
            again("size=64m")
            self.healed()

    def read_only(self) -> None:
        """Everything is there, and nothing may be written; or nothing is, and nothing may be."""
        with disk(self.folder, "64m") as again:
            again("ro")
            child = self.checked(self.run())
            self.tally.check(child.status not in (0, 1, 6), f"{self.words}: said nothing")
            again("rw")
            self.healed()
            again("ro")
            self.checked(self.run())

    def right_lost(self, random: Random) -> None:
        """The folders may not be written any more, all at once, while it is at work."""
        place = self.folder / DISK

        def act() -> Any:
            obey_rights()
            return self.kind.act()

        child = start(act, self.folder, _environment(self.folder))
        deadline = time.monotonic() + random.uniform(0.2, 4.0)
        while not child.has_ended() and time.monotonic() < deadline:
            time.sleep(0.01)
        folders = [place, *(path for path in place.rglob("*") if path.is_dir())]
        for each in folders:
            each.chmod(0o555)
        self.checked(child.wait(LONGEST))
        for each in folders:
            each.chmod(0o755)
        self.healed()

    def clock_back(self) -> None:
        """All that is kept is of next year."""
        self.healed()
        before = len(made(self.folder))
        later = time.time() + 365 * 86_400
        for file in (self.folder / DISK).rglob("*"):
            os.utime(file, (later, later))
        self.healed()
        again = sum(made(self.folder).values()) - before
        self.tally.check(again <= 0, f"{self.words}: {again} images made again")


STATES = ("full disk", "read-only", "a right lost midway", "clock back")


def go(folder: Path, times: int, seed: int = 0) -> Tally:
    """So many attacks, every kind in every state in turn."""
    tally, random = Tally("disks of traces, attention and language models", WANTED), Random(seed)
    expected = {}
    for kind in KINDS:
        whole = project(folder / f"undisturbed {kind.name}", kind)
        child = ended(kind.act, whole, LONGEST, environment=_environment(whole))
        if child.status not in (0, 1, 6):
            raise RuntimeError(last_lines(child.told))
        expected[kind.name] = kind.result(whole)
    cases = [(kind, state) for state in STATES for kind in KINDS]
    for number in range(times):
        kind, state = cases[number % len(cases)]
        place = project(folder / f"attack {number}", kind)
        attack = Attack(kind, place, expected[kind.name], tally, f"{state}, {kind.name}, {number}")
        tally.tried(f"{state}: {kind.name}")
        if state == "a right lost midway":
            attack.right_lost(random)
        else:
            getattr(attack, state.replace(" disk", "").replace("-", "_").replace(" ", "_"))()
        shutil.rmtree(place, ignore_errors=True)
    return tally
