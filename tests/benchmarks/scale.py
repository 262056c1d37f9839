"""Time runs of many pictures of a model that costs nothing.

    python tests/benchmarks/scale.py --prompts 2000 --images 50

Each line is one process: the run that makes the pictures, the run that makes none, and ``t2i
report``. Processor time counts children, too; a run of one picture tells what a start costs.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONFTEST = '''
import hashlib

import numpy as np
from PIL import Image

from pytest_t2i import Detection, Generated

BLUE, RED = (40, 60, 200), (200, 60, 40)


class Instant:
    """Half of the pictures are blue."""

    fingerprint = "instant"

    def generate(self, requests):
        return [Generated(self._picture(request)) for request in requests]

    def _picture(self, request):
        digest = hashlib.sha256(f"{request.seed}|{request.prompt}".encode()).digest()
        picture = np.empty((16, 16, 3), np.uint8)
        picture[:] = BLUE if digest[0] < 128 else RED
        picture[0, :8] = np.frombuffer(digest[1:25], np.uint8).reshape(8, 3)
        return Image.fromarray(picture)


class Colour:
    """Blue is a man."""

    fingerprint = "colour"
    labels = ("male", "female")

    def detect(self, images):
        blue = [image.getpixel((8, 8))[2] > 120 for image in images]
        return [Detection("male" if is_blue else "female") for is_blue in blue]


def pytest_t2i_models():
    return {"instant": lambda options: Instant()}


def pytest_t2i_detectors():
    return {"colour": lambda options: Colour()}
'''
SUITE = """
import pytest
from pytest_t2i import Axis, limit

words = Axis("thing", "a photo of {{a word}}", tuple(f"thing{{k}}" for k in range({prompts})))


@pytest.mark.t2i(words)
def test_prompt(sample):
    assert sample.prompt_bias_score <= limit("prompt_bias_score", 0.5)


@pytest.mark.t2i(words)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score", 0.3)
"""
CHILD = """
import resource, sys
from importlib.metadata import entry_points
(command,) = entry_points(group="console_scripts", name=sys.argv.pop(1))
try:
    sys.exit(command.load()())
finally:
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def project(folder: Path, prompts: int) -> None:
    """Write a project with an instant model and so many prompts."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_scale.py").write_text(SUITE.format(prompts=prompts))


def timed(folder: Path, command: str, *arguments: str) -> tuple[float, float, float]:
    """Return seconds, processor seconds and peak memory (MB) of a process and its children."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CHILD, command, *arguments],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1, 6):
        raise SystemExit(f"{command} {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, used, int(done.stderr.split("peak ")[-1].split()[0]) / 1024


def main() -> None:
    """Print a table of the runs that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=80)
    parser.add_argument("--images", type=int, default=50)
    options = parser.parse_args()
    run = ("-q", "-p", "no:cacheprovider", "--tb=no", "--no-header", "--t2i-model", "instant",
           "--t2i-detector", "colour", "--t2i-images")  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        start, whole = Path(name, "start"), Path(name, "whole")
        for folder, prompts in ((start, 1), (whole, options.prompts)):
            folder.mkdir()
            project(folder, prompts)
        images = str(options.images)
        print(f"{options.prompts} prompts x {images} pictures")
        print("| process | seconds | processor time | peak memory, MB |\n|---|---|---|---|")
        for title, folder, command, arguments in (
            ("start", start, "pytest", (*run, "1")),
            ("making", whole, "pytest", (*run, images)),
            ("again", whole, "pytest", (*run, images)),
            ("report", whole, "t2i", ("report", "reports/t2i/run.json", "again")),
        ):
            seconds, used, peak = timed(folder, command, *arguments)
            print(f"| {title} | {seconds:.1f} | {used:.1f} | {peak:.0f} |", flush=True)
        sizes = {path.name: path.stat().st_size / 1e6 for path in (whole / "reports/t2i").iterdir()
                 if path.is_file()}  # fmt: skip
        print(", ".join(f"{name} {size:.1f} MB" for name, size in sorted(sizes.items())))


if __name__ == "__main__":
    main()
