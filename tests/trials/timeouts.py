"""``pytest --timeout``: a test that hangs ends, and nothing else is lost (needs pytest-timeout)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from small_project import GIVEN, outcome_of, write
from tally import Tally

from pytest_t2i.generation.store.repair import verify_store

WANTED = "the test that hangs is named, never PASS, the store whole, the next run as undisturbed"
SECONDS = 15
LONGEST = 300
SUITE = """
import time
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE)
def test_prompt(sample):
    if {hangs} and sample.prompt.concept == "chef":
        time.sleep(600)
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.any", 1.0)
"""
WAYS = (("signal",), ("thread",), ("signal", "-n", "2"), ("thread", "-n", "2"))


def _run(folder: Path, *more: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *GIVEN, *more]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "COLUMNS": "200"}, timeout=LONGEST, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.returncode, done.stdout


def _made_images(folder: Path) -> int:
    record = json.loads((folder / "reports/t2i/run.json").read_text())
    return int(record["work"]["made"])


def go(folder: Path, times: int) -> Tally:
    """Each way in turn."""
    tally = Tally("pytest --timeout", WANTED)
    if find_spec("pytest_timeout") is None:
        raise SystemExit("pip install pytest-timeout")
    for number in range(times):
        method, *workers = way = WAYS[number % len(WAYS)]
        words = " ".join(way)
        place = write(folder / str(number))
        (place / "test_suite.py").write_text(SUITE.format(hangs=True))
        how = ("--timeout", str(SECONDS), "--timeout-method", method, *workers)
        status, told = _run(place, *how)
        tally.tried(words)
        tally.check(status != 0, f"{words}: status 0")
        tally.check("chef" in told or "test_prompt" in told, f"{words}: the test is not named")
        tally.check(outcome_of(place) != "PASS", f"{words}: PASS")
        damaged = verify_store(place / ".t2i")
        tally.check(damaged.is_whole, f"{words}: the store is damaged")
        (place / "test_suite.py").write_text(SUITE.format(hangs=False))
        status, told = _run(place)
        tally.check(status in (0, 6), f"{words}: the next run ends in {status}")
        tally.check(_made_images(place) == 0, f"{words}: images were made again")
    return tally
