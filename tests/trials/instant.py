"""Many instant images in one run: what each costs, and what memory the run takes, as it grows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from processes import start
from small_project import run_pytest, write
from tally import Tally

WANTED = "cost per image constant within 20 %, memory below 1 GiB"
MOST_GROWTH = 1.2
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


def go(folder: Path, share: float) -> Tally:
    """100,000 images of 10,000 prompts, against a tenth of it."""
    tally = Tally("100,000 instant images", WANTED)
    few, many = costs(folder, [round(1000 * share), round(10_000 * share)])
    tally.tried("images", many.images)
    tally.facts["ms of the processor per image"] = (
        f"{few.milliseconds:.2f} of {few.images:,}, {many.milliseconds:.2f} of {many.images:,}"
    )
    tally.facts["memory"] = f"{many.memory:.2f} GiB"
    tally.check(many.milliseconds <= MOST_GROWTH * few.milliseconds, "cost per image grows")
    tally.check(many.memory < 1.0, "memory of 1 GiB")
    return tally
