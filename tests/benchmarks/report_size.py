"""What the page of 100 prompts and 20 images each weighs, and how fast a browser opens it.

The run is made with fakes; its pictures are then taken to be portraits of 512 pixels from
../shared/data, since a plain colour weighs nothing. Needs playwright and a Chromium for the times.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from shared_data import data

from pytest_t2i import read_run
from pytest_t2i.reporting.html import render_html

REPOSITORY = Path(__file__).parents[2]
CONFTEST = """
import fakes

def pytest_t2i_models():
    return {"fair": fakes.fair}

def pytest_t2i_detectors():
    return {"colour": fakes.detector}
"""
HOW = ("--t2i-model", "fair", "--t2i-detector", "colour", "--t2i-images", "20", "parity")
ROUNDS = 5


def run_of_fakes(folder):
    """The record of 100 prompts."""
    shutil.copy(REPOSITORY / "tests" / "fakes.py", folder)
    shutil.copytree(REPOSITORY / "suites" / "parity", folder / "parity")
    shutil.copy(REPOSITORY / "suites" / "limits.toml", folder)
    (folder / "conftest.py").write_text(CONFTEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", *HOW]
    subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)
    return read_run(folder / "reports/t2i/run.json")


def with_portraits(record):
    """The same run, its pictures portraits."""
    files = itertools.cycle(sorted(data("portraits").glob("*.jpg")))
    prompts = tuple(
        replace(
            prompt,
            images=tuple(replace(image, file=str(next(files))) for image in prompt.images),
        )
        for prompt in record.prompts
    )
    return replace(record, prompts=prompts)


def seconds_to_open(file):
    """Until the page is whole, each time in a window of its own."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for _ in range(ROUNDS):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(file.as_uri())
            yield page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000
            page.close()
        browser.close()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record = with_portraits(run_of_fakes(folder))
        images = sum(len(prompt.images) for prompt in record.prompts)
        start = time.perf_counter()
        page = render_html(record, folder).encode()
        took = time.perf_counter() - start
        file = folder / "page.html"
        file.write_bytes(page)
        print(f"{len(record.prompts)} prompts, {images} images: {len(page) / 1e6:.2f} MB, "
              f"written in {took:.1f} s")  # fmt: skip
        times = list(seconds_to_open(file))
        print(f"open in {np.median(times):.2f} s (slowest of {ROUNDS}: {max(times):.2f} s)")


if __name__ == "__main__":
    main()
