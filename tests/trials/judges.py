"""Judges of pictures under attack: kills, budgets, changing versions, hostile answers.

A local server plays the judge. A run that is killed at any moment loses the answers that it was
waiting for; no answer that it had is asked for again, and no run spends more than its budget.

    PYTHONPATH=tests:plugins/pytest-t2i-origins/tests python tests/trials/run.py judge-kills
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from judge_server import Plan, Server, judging, picture
from tally import Tally

from pytest_t2i.adapters.detectors import vlm
from pytest_t2i.adapters.detectors.judging import JudgeRun
from pytest_t2i.data import FactKind
from pytest_t2i.errors import T2IError
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import AnswerLimits, LoadOptions

WANTED = (
    "0 answers asked for again beyond those under way, 0 requests beyond a budget, 0 hangs, "
    "0 tracebacks, 0 labels outside of the rubric; a changed version noticed, and no verdict by it"
)
PICTURES, AT_ONCE, LONGEST = 120, 4, 120.0
SUITE = """
import pytest
from pytest_t2i import limit, prompts

@pytest.mark.t2i(prompts.Axis("job", "a photo of a {word}", ("nurse", "pilot", "judge", "cook")))
def test_model(samples):
    assert samples.group_distance <= limit("group_distance", 0.5, reason="a trial")
"""
SETTLED = (0, 1, 6)
"""Exit statuses of a run that came to its end."""


def write(folder: Path, start: int = 0) -> Path:
    """A project with pictures of four words."""
    (folder / "pictures").mkdir(parents=True)
    (folder / "test_suite.py").write_text(SUITE)
    rows = ["file,prompt,seed"]
    for place, word in enumerate(("nurse", "pilot", "judge", "cook")):
        for seed in range(PICTURES // 4):
            name = f"{word}{seed}.png"
            picture((seed + place) % 2, start + place * 1000 + seed).save(
                folder / "pictures" / name
            )
            rows.append(f"{name},a photo of a {word},{1000 * place + seed}")
    (folder / "pictures/manifest.csv").write_text("\n".join(rows) + "\n")
    return folder


def priced(folder: Path, price: str) -> tuple[str, str]:
    """The option with a catalogue that has the price of a judged picture."""
    (folder / "prices.toml").write_text(f'[judge_prices]\n"vlm:judge" = "{price}"\n')
    return "--t2i-catalogue", "prices.toml"


def start(folder: Path, server: Server, *more: str) -> subprocess.Popen[str]:
    """A run of pytest that judges the pictures."""
    words = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
        "--t2i-images", str(PICTURES // 4), "--t2i-model", "images:pictures",
        "--t2i-detector", f"vlm:judge@{server.address}+gender+age",
        "--t2i-concurrency", str(AT_ONCE), *more,
    ]  # fmt: skip
    with (folder / "told.txt").open("w") as told:
        return subprocess.Popen(
            words,
            cwd=folder,
            stdout=told,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


def _kept(folder: Path) -> int:
    return len(Store(folder / ".t2i").facts(FactKind.JUDGED.of("")))


def kills(folder: Path, count: int, tally: Tally, seed: int = 1) -> Tally:
    """Kill runs at random moments, each with a budget of its own, until all is judged."""
    random, number = Random(seed), 0
    while tally.kinds["kills"] < count:
        place = write(folder / f"round {number}")
        number += 1
        with judging(Plan(seconds=0.01)) as server:
            extra = 0
            for _ in range(8):
                if tally.kinds["kills"] >= count or _kept_all(server):
                    break
                since, budget = len(server.requests), random.randrange(5, PICTURES)
                price = priced(place, "1 USD")
                run = start(place, server, *price, "--t2i-budget", f"{budget} USD")
                target = since + random.randrange(1, budget)
                deadline = time.monotonic() + LONGEST
                while run.poll() is None and len(server.requests) < target:
                    tally.check(time.monotonic() < deadline, "a hang")
                    time.sleep(0.002)
                if run.poll() is None:
                    os.killpg(run.pid, signal.SIGKILL)
                    extra += AT_ONCE
                    tally.tried("kills")
                run.wait(LONGEST)
                time.sleep(0.1)  # requests under way end
                asked = len(server.requests) - since
                tally.check(asked <= budget, f"{asked} requests with a budget of {budget}")
                told = (place / "told.txt").read_text()
                tally.check("Traceback" not in told, told[-300:])
            run = start(place, server)
            run.wait(LONGEST)
            tally.check(run.returncode in SETTLED, (place / "told.txt").read_text()[-300:])
            twice = sum(judged > 2 for judged in server.judged.values())
            needed = len(server.judged) + _judged_again(place)
            tally.check(
                server.judged.total() <= needed + extra,
                f"{server.judged.total()} answers for {needed}, {extra} under way ({twice} thrice)",
            )
            record = json.loads((place / "reports/t2i/run.json").read_text())
            tally.check(bool(record["checks"]), "no verdict")
    return tally


def _kept_all(server: Server) -> bool:
    return len(server.judged) >= PICTURES


def _judged_again(folder: Path) -> int:
    return len(Store(folder / ".t2i").facts("judged-again:"))


def versions(folder: Path, count: int, tally: Tally, seed: int = 1) -> Tally:
    """Judges whose version changes in the middle of a run, and as many whose does not."""
    random = Random(seed)
    for number in range(2 * count):
        changes, place = number % 2 == 0, write(folder / f"version {number}", number * 10_000)
        at = random.randrange(10, PICTURES) if changes else 10**9
        field = ("model", "system_fingerprint")[number // 2 % 2]
        plan = Plan(version=lambda n, at=at, f=field: {f: "old" if n < at else "new"})
        with judging(plan) as server:
            run = start(place, server)
            run.wait(LONGEST)
            told = " ".join((place / "told.txt").read_text().split())
        has_noticed = "has changed while it judged" in told
        tally.tried("changed" if changes else "unchanged")
        tally.check(
            has_noticed == changes, f"noticed: {has_noticed}, changed: {changes}: {told[-300:]}"
        )
        if changes:
            file = place / "reports/t2i/run.json"
            checks = json.loads(file.read_text())["checks"] if file.exists() else []
            decided = [check for check in checks if check["outcome"] != "INCONCLUSIVE"]
            tally.check(run.returncode not in (0, 6) and not decided, f"a verdict: {decided[:1]}")
        else:
            tally.check(run.returncode in SETTLED, told[-300:])
    return tally


PIECES = (
    "{", "}", "[", "]", '"', ":", ",", "\\", "\\u0000", "\ud800", "null", "NaN", "1e999", "9" * 400,
    "male", "female", "unspecified", "MALE ", "gender", "age", '"label"', '"evidence"', "0-2",
    "<script>alert(1)</script>", "```json", "Sure! ", "I cannot help with that.", "\x00", "\x1b[2J",
    "\u202e", "label: male", "'male'", "male|female", "true", "-1", "choices", "message", "content",
)  # fmt: skip


def hostile_bodies(count: int, seed: int) -> list[bytes]:
    """Bodies and texts that no honest judge sends."""
    random, bodies = Random(seed), list[bytes]()
    good = json.dumps({"gender": {"evidence": "x", "label": "male"}, "age": {"label": "0-2"}})
    for number in range(count):
        kind = number % 6
        if kind == 0:
            text = "".join(random.choices(PIECES, k=random.randrange(1, 40)))
        elif kind == 1:
            place = random.randrange(len(good))
            text = good[:place] + random.choice(PIECES) + good[place + random.randrange(9) :]
        elif kind == 2:
            value = random.choice([None, 1, [], {}, True, "men", "male\0", ["male"], "x" * 100_000])
            text = json.dumps({"gender": {"label": value}, "age": {"label": "0-2"}})
        elif kind == 3:
            text = "[" * random.randrange(1, 5000) + good + "{" * random.randrange(1, 5000)
        elif kind == 4:
            choices = random.choice([None, [], [None], [[]], {}, "x", [{"message": []}], 3])
            bodies.append(b"\0" + json.dumps({"choices": choices}).encode())
            continue
        else:
            message = {"role": "assistant", "content": random.choice([None, 5, [], [{}], [1], {}])}
            body = {
                "choices": [{"message": message, "finish_reason": random.choice(["length", 4])}]
            }
            bodies.append(b"\0" + json.dumps(body).encode()[: random.choice([None, 20, 60])])
            continue
        bodies.append(text.encode("utf-8", "replace"))
    return bodies


def hostile(count: int, tally: Tally, seed: int = 1) -> Tally:
    """Ask for each hostile answer once, and once more."""
    for number, body in enumerate(hostile_bodies(count, seed)):
        with judging(Plan(hostile=(b"", body, body))) as server:
            limits = AnswerLimits(seconds=3.0, at_once=1)
            source = f"judge@{server.address}+gender+age"
            detector = vlm.load(LoadOptions(source, answers=limits))
            began = time.monotonic()
            tally.tried("hostile answers")
            try:
                detector.join(JudgeRun())
                (detection,) = detector.detect([picture(1, number)])
            except T2IError as error:
                tally.tried("ended with a message")
                tally.check(bool(str(error)), "an empty message")
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                tally.check(False, f"{type(error).__name__} for {body[:80]!r}")
            else:
                labels = {*detector.rubric.words, "low_confidence", "judge_refused", "unreadable"}
                tally.check(str(detection.said) in labels, f"{detection.said} for {body[:80]!r}")
                tally.check(detection.detail.isprintable(), f"{detection.detail!r}")
            tally.check(time.monotonic() - began < 10, f"a hang with {body[:80]!r}")
    return tally
