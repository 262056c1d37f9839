"""SIGKILL of ``t2i explain`` at random moments: the same command ends with the same answer.

``PYTHONPATH=tests:tests/trials python tests/trials/explain_kills.py 40`` prints a
row: kills, and how many searches ended with the answer of an undisturbed one.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

COMMAND = "import sys; from pytest_t2i.cli.main import main; sys.exit(main())"
EXPLAIN = ("explain", "reports/t2i/run.json", "--baseline", "b.json")
PROJECT = """
import time
from pathlib import Path
import steered
from pytest_t2i import audit
from pytest_t2i.runs.baseline import save_baseline
prompts = [f"a photo of one {word}" for word in ("nurse", "pilot", "judge", "baker", "clerk")]
given = {"images": 12, "progress": False, "store": ".t2i", "detector": "steered:judge"}
before = audit("steered:fair", *prompts, guidance=2, steps=4, **given)
save_baseline(before._results, Path("b.json"))
audit("steered:twin", *prompts, guidance=9, steps=5, **given).write_report("reports/t2i")
"""
PAUSE = 0.02
"""Seconds that a picture takes."""
LONGEST = 120.0
STEERED = Path(__file__).parents[1] / "unit" / "explain" / "steered.py"


def project(folder: Path) -> None:
    """Write a project with a baseline and a run."""
    text = STEERED.read_text().replace(
        "            settings = request.settings\n",
        f"            settings = request.settings\n            __import__('time').sleep({PAUSE})\n",
    )
    (folder / "steered.py").write_text(text)
    subprocess.run([sys.executable, "-c", PROJECT], cwd=folder, env=environment(folder), check=True)


def environment(folder: Path) -> dict[str, str]:
    """The environment of a process that finds the project's module."""
    return os.environ | {"PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start the command."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *EXPLAIN],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def answer(folder: Path) -> dict[str, Any]:
    """What the explanation says, without times and what was made by its last process."""
    plain: dict[str, Any] = json.loads((folder / "reports/t2i/explain.json").read_text())
    return plain | {"created": "", "made": 0}


def main() -> None:
    """Kill so many times, and compare."""
    kills, rng = int(sys.argv[1]), random.Random(20262)
    killed = same = ended = 0
    with tempfile.TemporaryDirectory() as place:
        fresh = Path(place, "fresh")
        fresh.mkdir()
        project(fresh)
        undisturbed = Path(place, "undisturbed")
        shutil.copytree(fresh, undisturbed)
        start(undisturbed).wait(LONGEST)
        expected = answer(undisturbed)
        while killed < kills:
            folder = Path(place, f"search-{ended}")
            shutil.copytree(fresh, folder)
            while True:
                process = start(folder)
                try:
                    process.wait(rng.uniform(0.5, 8.0))
                    break
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    killed += 1
            ended += 1
            same += answer(folder) == expected
    print(f"| kill -9 of t2i explain | {killed} | {ended} searches | {same} with the same answer |")


if __name__ == "__main__":
    main()
