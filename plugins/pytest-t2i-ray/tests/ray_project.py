"""A small project whose model takes its time, and a Ray cluster of this machine to run it on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from installed import python_path

FAKES = Path(__file__).resolve().parents[3] / "tests" / "fakes.py"
MODELS = """
import os
import time
from pathlib import Path

import fakes

# An actor has the environment of its node, and not that of the run.
os.environ["FAKE_LOG"] = str(Path(__file__).with_name("made.log"))

class Slow(fakes.FakeModel):
    def generate(self, requests):
        made = super().generate(requests)
        time.sleep(float(os.environ.get("SLOW", "0.02")) * len(requests))
        return made

def slow(options):
    return Slow(0.5, "slow")

class Deadly(fakes.FakeModel):
    def generate(self, requests):
        if any("pilot" in request.prompt for request in requests):
            os._exit(1)
        return super().generate(requests)

def deadly(options):
    return Deadly(0.5, "deadly")

class Elsewhere(fakes.FakeModel):
    def __init__(self):
        super().__init__(0.5, str(os.getpid()))

def elsewhere(options):
    return Elsewhere()

def unpicklable(options):
    return fakes.fair(options)
"""
CONFTEST = """
import fakes
import models

def pytest_t2i_models():
    return {"local": lambda options: models.slow(options)}

def pytest_t2i_detectors():
    return {"colour": fakes.detector}
"""
SUITE = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score", 0.6)

@pytest.mark.t2i(PEOPLE)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score", 0.3)
"""
PLAIN = ("--t2i-detector", "colour", "-p", "no:cacheprovider", "-q")


def write(folder: Path) -> Path:
    """The project in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(FAKES, folder / "fakes.py")
    for name, text in (("models", MODELS), ("conftest", CONFTEST), ("test_people", SUITE)):
        (folder / f"{name}.py").write_text(text)
    return folder


def command(*arguments: str, model: str = "models:slow") -> list[str]:
    """Pytest's command line."""
    return [sys.executable, "-m", "pytest", "--t2i-model", model, *PLAIN, *arguments]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Where the project's modules lie."""
    return {
        **os.environ, "PYTHONPATH": python_path(folder), "OMP_NUM_THREADS": "1",
        "COLUMNS": "240", **more,
    }  # fmt: skip


def run(folder: Path, *arguments: str, model: str = "models:slow", **more: str) -> tuple[int, str]:
    """Run it to its end: exit status and what it said."""
    done = subprocess.run(
        command(*arguments, model=model), cwd=folder, env=environment(folder, **more),
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def pictures(store: Path) -> dict[str, bytes]:
    """Every picture of a store by its name."""
    return {path.name: path.read_bytes() for path in (store / "images").rglob("*.png")}


def verdicts(folder: Path) -> list[tuple[Any, ...]]:
    """All that a run found out, but for its times."""
    record = json.loads((folder / "reports" / "t2i" / "run.json").read_text())
    names = ("metric", "subject", "estimate", "low", "high", "outcome")
    return sorted(tuple(str(check[name]) for name in names) for check in record["checks"])


def made(folder: Path) -> Counter[str]:
    """How often each image was made: "seed prompt"."""
    log = folder / "made.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter(line.split(" ", 1)[1] for line in lines)
