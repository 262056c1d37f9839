"""A kill at any moment loses the batch in flight at most."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow
BATCH = 4

SLOW = """
import time
import fakes

class Slow(fakes.FakeModel):
    def generate(self, requests):
        time.sleep(0.2)
        return super().generate(requests)

def make(options):
    return Slow(0.5, "slow")
"""


def kill(project, *arguments):
    """Start a run, and kill it after three batches."""
    command = [sys.executable, "-m", "pytest", "--t2i-detector", "colour", *arguments]
    running = subprocess.Popen(
        command,
        cwd=project.path,
        env=os.environ | project.environment(),
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while len(project.made()) < 3 * BATCH and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()


def test_workers_make_nothing_more_when_their_controller_was_killed(project):
    (project.path / "slow.py").write_text(SLOW)
    batch = ("--t2i-batch", str(BATCH))
    kill(project, "--t2i-model", "slow:make", *batch, "-k", "test_prompt", "-n", "2")
    before = len(project.made())
    time.sleep(2.0)
    assert len(project.made()) <= before + 2 * BATCH


def test_a_killed_run_goes_on_where_it_was(project):
    (project.path / "slow.py").write_text(SLOW)
    arguments = ("--t2i-model", "slow:make", "--t2i-batch", str(BATCH), "-k", "test_prompt")
    kill(project, *arguments)
    before = len(project.made())
    assert 3 * BATCH <= before < 80
    result = project.run(*arguments)
    assert result.ret in (0, 1)
    made = project.made()
    assert len(set(made)) == 80
    assert len(made) <= 80 + BATCH
