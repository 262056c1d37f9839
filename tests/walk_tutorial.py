"""Walk a tutorial as its reader does, in an empty folder and with the models it names.

PYTHONPATH=tests python tests/walk_tutorial.py docs/tutorials/gate.md

Each command is timed. Ends with 1 where a command's exit status is not the one that the page says.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tutorial_blocks import Command, File, steps


def main(tutorial: Path) -> int:
    """Do every step; returns the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        for step in steps(tutorial):
            if isinstance(step, File):
                step.write(Path(folder))
            elif not is_as_told(step, Path(folder)):
                return 1
    return 0


def is_as_told(command: Command, folder: Path) -> bool:
    """Run a command; False, and all it said, where it ends otherwise than told."""
    started = time.monotonic()
    done = subprocess.run(
        command.line, shell=True, cwd=folder, env=environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    minutes, seconds = divmod(round(time.monotonic() - started), 60)
    print(f"{minutes}:{seconds:02d}  exit status {done.returncode}  {command.line}", flush=True)
    if done.returncode != command.status:
        print(f"expected exit status {command.status}\n{done.stdout}{done.stderr}")
    return done.returncode == command.status


def environment() -> dict[str, str]:
    """In which pytest, t2i and python are those of this very Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return os.environ | {"PATH": path, "PYTEST_ADDOPTS": "-p no:cacheprovider"}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
