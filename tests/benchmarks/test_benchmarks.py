"""Every benchmark starts and ends, at its smallest size: what is quoted can be measured again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from installed import python_path

pytest.importorskip("pytest_t2i_reference")

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
WEIGHTS = REPOSITORY / "plugins/pytest-t2i-reference/src/pytest_t2i_reference/weights/reference"
SUITE = ("-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "--t2i-model", "reference")
SMALLEST = {
    "batch_exactness": ("--images", "16"),
    "drawn_scenes": ("--prompts", "2", "--images", "1", "--detectors", "clip"),
    "faces": ("--images", "2", "--cnn-images", "1", "--cnn-pairs", "1"),
    "first_picture": ("--pairs", "0", "--steps", "1"),
    "genders": ("--images", "4"),
    "gpu": ("--small",),
    "idle_device": ("--images", "8", "--batch", "2", "--device", "0.01", "--finder", "0.01"),
    "skin_tones": ("--drawn", "6", "--faces", "4"),
    "people": ("--overlaps", "0.7"),
    "plain_loop": ("--prompts", "1", "--images", "2", "--rounds", "1"),
    "report_size": (),
    "scale": ("--prompts", "2", "--images", "2"),
    "png": ("--pixels", "64", "--pictures", "2"),
    "whole_run_on_gpu": ("--small",),
    "spi_passes": (str(WEIGHTS), "1"),
}
"""Script -> what makes it small."""
SUITES = {
    "dependency_sheets": ("--t2i-objects", "auto", "--t2i-images", "1"),
    "variety": ("--t2i-images", "20"),
}
"""Suite -> the same."""
DATA = ("faces", "genders", "people", "report_size", "skin_tones")
"""Scripts that need data beside the project, a browser, or a library that no extra names."""
NOT_HERE = ("skipped: there is no", "a library that is not installed", "Executable doesn't exist")
READS_RUNS = ("spi_error",)
"""Scripts that read the records of runs that take minutes."""


def run(folder, *command):
    environment = {
        **os.environ,
        "PYTHONPATH": python_path(REPOSITORY / "tests"),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


def test_every_benchmark_is_run_here():
    here = {path.stem for path in HERE.glob("*.py")} - {"shared_data", Path(__file__).stem}
    assert here == SMALLEST.keys() | SUITES.keys() | {*READS_RUNS}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SMALLEST))
def test_a_script_runs(name, tmp_path):
    done = run(tmp_path, str(HERE / f"{name}.py"), *SMALLEST[name])
    lines = [line for line in done.stderr.splitlines() if any(words in line for words in NOT_HERE)]
    if name in DATA and lines:
        pytest.skip(lines[-1])
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SUITES))
def test_a_suite_runs(name, tmp_path):
    done = run(tmp_path, *SUITE, *SUITES[name], str(HERE / f"{name}.py"))
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_a_script_that_reads_runs_reads_one(tmp_path):
    one = {"concept": "Iranian", "attribute": "turban", "guidance": True, "centred": [0.1]}
    part = {"record": {"emergence": [one]}}
    (tmp_path / "run.json").write_text(json.dumps({"audits": {"emergence": part}}))
    done = run(tmp_path, str(HERE / "spi_error.py"), "biased=run.json")
    assert done.returncode == 0, done.stderr
    assert "biased: 1 attributes, mean +0." in done.stdout
