"""How often the release gate is red for the same model with other seeds, run as a user runs it.

PYTHONPATH=tests python tests/simulations/release_gate.py 200 > tests/simulations/release_gate.md
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from project_files import CONFTEST, FAKES
from uncertainty import share_of

SUITE = (Path(__file__).parents[2] / "suites/parity/test_regression.py").read_text()
EVERY = "axes.profession, axes.personality, axes.activity, axes.object, axes.place"
WORDS = "axes.profession,"
IMAGES = 20
OWN = ("fakes", "conftest", "test_suite")
"""Modules of the project."""
STATUS = {0: "green", 1: "red", 6: "too few images to say"}


@contextlib.contextmanager
def as_in_a_new_process() -> Iterator[None]:
    """The project's own modules are imported anew, and are gone again afterwards."""
    before = {name: sys.modules.pop(name, None) for name in OWN}
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def run_pytest(model: str, seed: int, *arguments: str) -> str:
    """Green, red or inconclusive, as the exit status says; pytest runs in this process."""
    given = ("--t2i-model", model, "--t2i-seed", str(seed), "--t2i-detector", "colour")
    how = ("--t2i-images", str(IMAGES), "-p", "no:cacheprovider")
    with as_in_a_new_process(), contextlib.redirect_stdout(io.StringIO()) as told:
        status = int(pytest.main([*given, *how, *arguments]))
    if status not in STATUS:
        raise RuntimeError(told.getvalue())
    return STATUS[status]


@contextlib.contextmanager
def project() -> Iterator[None]:
    """Inside a project with the suite on 40 of its words."""
    assert EVERY in SUITE
    start = Path.cwd()
    suite = SUITE.replace(EVERY, WORDS)
    files = {"conftest.py": CONFTEST, "test_suite.py": suite, "pytest.ini": "[pytest]\n"}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(FAKES, folder)
        for name, text in files.items():
            (Path(folder) / name).write_text(text)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(start)


def record(model: str, seed: int) -> str:
    """Ship it."""
    return run_pytest(model, seed, "--t2i-save-baseline", f"{seed}.json")


def gate(model: str, seed: int, shipped: int) -> str:
    """Against what was shipped with that seed."""
    return run_pytest(model, seed, "--t2i-baseline", f"{shipped}.json")


def outcomes(repeats: int) -> dict[str, Counter[str]]:
    """How the gate ends. Every run is held against the one before, so that each pair is another."""
    with project():
        for seed in range(repeats + 1):
            record("fair", seed)
        same = Counter(gate("fair", seed, seed) for seed in range(max(1, repeats // 10)))
        others = Counter(gate("fair", seed + 1, seed) for seed in range(repeats))
        biased = Counter(gate("biased", seed, seed) for seed in range(max(1, repeats // 10)))
    return {
        "same model, same seed": same,
        "same model, other seed": others,
        "biased model, same seed": biased,
    }


def main(repeats: int) -> None:
    """Print the page."""
    rows = outcomes(repeats)
    print("# The release gate, run as a user runs it\n")
    print(
        "Made by `PYTHONPATH=tests python tests/simulations/release_gate.py "
        f"{repeats}`:\n`suites/parity/test_regression.py` on 40 of its prompts, {IMAGES} images of "
        "each, an even fake model,\neach run held against a baseline of its own. Counted are exit "
        "statuses of pytest; in brackets 95 %\nintervals of the simulation. Wanted: the same seed "
        "always green, another one red in at most 1 of 20\nruns (so few images cannot show that "
        "the score grew by no more than 0.1), a biased model\n(P(male) = 0.95) always red.\n"
    )
    print("| run | green | too few images to say | red | runs | share red |")
    print("|---|---|---|---|---|---|")
    for name, counts in rows.items():
        green, red, few = (counts[status] for status in STATUS.values())
        runs = counts.total()
        print(f"| {name} | {green} | {few} | {red} | {runs} | {share_of(red, runs)} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
