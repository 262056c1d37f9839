"""A project to try things in: fakes, a suite that asks for every kind of thing, its limits."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hypothesis.strategies  # noqa: F401 - loaded before processes are forked
import numpy as np  # noqa: F401
import PIL.Image  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import skimage.metrics  # noqa: F401
import xdist.dsession
import xdist.remote
import xdist.workermanage  # noqa: F401
from distributions import forget_what_is_installed, write_metadata
from forked_workers import prepare
from plain_runs import plain_run
from project_files import CONFTEST, FAKES

import pytest_t2i.plugin.run
import pytest_t2i.reporting.html
import pytest_t2i.reporting.markdown
import pytest_t2i.reporting.terminal  # noqa: F401
from pytest_t2i.cli.main import main

SUITE = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")

@pytest.mark.t2i(PEOPLE)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score")

@pytest.mark.t2i(PEOPLE.only("nurse", "pilot"), images=4)
@pytest.mark.parametrize("space", ["denoising", "image"])
def test_gap(triplets, space):
    assert abs(triplets.similarity_gap(space)) <= limit(f"similarity_gap.{space}")
"""
LIMITS = """
prompt_bias_score = 0.6
model_bias_score = 0.3
[similarity_gap]
denoising = 0.6
image = 0.5
"""
PLAIN = ("-p", "no:cacheprovider", "--no-header", "-p", "pytest_t2i.plugin.hooks")
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""No plugin but ours, which saves a process half of its time."""
XDIST = ("-p", "xdist.plugin")
STANDBY = 8
"""Up to four workers, and as many in place of killed ones."""
GIVEN = ("--t2i-model", "fair", "--t2i-detector", "colour", "--t2i-images", "8")


def write(folder: Path) -> Path:
    """The project in a new folder."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(FAKES, folder / "fakes.py")
    for name, text in {
        "conftest.py": CONFTEST,
        "test_suite.py": SUITE,
        "limits.toml": LIMITS,
        "pytest.ini": "[pytest]\n",
    }.items():
        (folder / name).write_text(text)
    if not list(folder.glob("*.dist-info")):
        write_metadata(folder, "fakes", "1", {"pytest_t2i.detectors": {"colour": "fakes:detector"}})
    return folder


def forget_projects() -> None:
    """Forget modules of other projects: a detector's identity holds those beside it."""
    for name in ("fakes", "parts", "crowded"):
        sys.modules.pop(name, None)


def run_pytest(*arguments: str) -> Any:
    """pytest as a forked process runs it; with ``-n 2`` on forked workers."""

    def act() -> int:
        sys.dont_write_bytecode = True
        os.environ |= ALONE
        if "-n" in arguments:
            prepare(STANDBY)
        return int(pytest.main([*PLAIN, *(XDIST if "-n" in arguments else ()), *arguments]))

    return act


def run_t2i(*arguments: str) -> Any:
    """A t2i command as a forked process runs it."""

    def act() -> int:
        forget_what_is_installed()
        return main(arguments)

    return act


def made(folder: Path) -> Counter[str]:
    """How often each image was made: "seed prompt"."""
    log = folder / "made.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter(line.split(" ", 1)[1] for line in lines)


def verdicts(folder: Path) -> dict[str, Any]:
    """What the last run decided: its outcome, and every check's estimate and verdict."""
    record = plain_run(folder / "reports/t2i/run.json")
    checks = sorted(record["checks"], key=lambda c: (c["test"], c["metric"], c["subject"]))
    kept = ("test", "metric", "subject", "outcome", "estimate", "low", "high", "n")
    return {
        "outcome": record["outcome"],
        "checks": [{name: check[name] for name in kept} for check in checks],
        "images": sorted(
            (prompt["text"], image["seed"], json.dumps(image["detections"], sort_keys=True))
            for prompt in record["prompts"]
            for image in prompt["images"]
        ),
    }


def outcome_of(folder: Path) -> str:
    """The outcome of the last run; "" without one."""
    file = folder / "reports/t2i/run.json"
    return str(json.loads(file.read_text())["outcome"]) if file.exists() else ""


def has_traceback(told: str) -> bool:
    """Whether a user was shown the inside of the program."""
    return any(word in told for word in ("Traceback (most", "INTERNALERROR", "~~~^"))


def last_lines(told: str, most: int = 3) -> str:
    """The end of what was printed, on one line."""
    lines: Sequence[str] = [line for line in told.splitlines() if line.strip()]
    return " / ".join(lines[-most:])[-300:]
