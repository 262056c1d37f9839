"""Many instant images in one run: what each costs, and what memory the run takes, as it grows."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from processes import start
from small_project import run_pytest, write

IMAGES = 10
"""Per prompt."""
SUITE = """
import pytest
from pytest_t2i import limit
from pytest_t2i.data import Prompt

PROMPTS = [Prompt(f"a person who is called {{k}}", "name", f"name {{k}}") for k in range({prompts})]

@pytest.mark.t2i(*PROMPTS)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")

@pytest.mark.t2i(*PROMPTS)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score")
"""


class Cost(NamedTuple):
    """What a run took."""

    images: int
    status: int
    milliseconds: float
    """Of the processor, per image."""
    memory: float
    """GiB at most."""


def cost(folder: Path, prompts: int) -> Cost:
    """A run of so many prompts, ten images each, and of a test for each and one for all."""
    write(folder)
    (folder / "test_suite.py").write_text(SUITE.format(prompts=prompts))
    given = ("--t2i-model", "fair", "--t2i-detector", "colour", "--t2i-images", str(IMAGES))
    child = start(run_pytest(*given, "-q", "--tb=no", "--t2i-batch", "256"), folder)
    _, status, used = os.wait4(child.pid, 0)
    images = len(list((folder / ".t2i/images").glob("*/*.png")))
    seconds = used.ru_utime + used.ru_stime
    code = os.waitstatus_to_exitcode(status)
    return Cost(images, code, 1000 * seconds / images, used.ru_maxrss / 2**20)


def costs(folder: Path, sizes: Sequence[int]) -> list[Cost]:
    """Runs of growing size, after a small one that loads what is loaded once."""
    cost(folder / "first", 20)
    return [cost(folder / str(prompts), prompts) for prompts in sizes]


if __name__ == "__main__":
    for row in costs(Path(sys.argv[1]), [int(size) for size in sys.argv[2:]]):
        print(row, flush=True)
