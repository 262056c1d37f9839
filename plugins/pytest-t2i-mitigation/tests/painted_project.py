"""The suite of the repository on the painted world, run as a user runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from installed import python_path

HERE = Path(__file__).parent
SUITE = HERE.parents[2] / "suites" / "mitigation"
CONFTEST = """
import painting

def pytest_t2i_models():
    return {"painter": painting.Painter}

def pytest_t2i_detectors():
    return {"colours": lambda options: painting.Colours()}

def pytest_t2i_objects():
    return {"wardrobe": lambda options: painting.Wardrobe()}

def pytest_t2i_encoders():
    return {"clip": lambda options: painting.Quarters()}

def pytest_t2i_mitigations():
    return painting.SHAMS
"""
NAMED = ("--t2i-model", "painter", "--t2i-detector", "colours", "--t2i-objects", "wardrobe")


class PaintedProject:
    """A folder with the suite, its limits and the painted world."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(SUITE, folder / "suite", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(HERE / "painting.py", folder)
        (folder / "conftest.py").write_text(CONFTEST)
        (folder / "pytest.ini").write_text("[pytest]\n")
        self.log = folder / "painted.log"

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {
            "PAINTED": str(self.log), "PYTHONPATH": python_path(self.folder), "COLUMNS": "240",
            "OMP_NUM_THREADS": "1",
        }  # fmt: skip

    def command(self, *arguments: str) -> list[str]:
        plain = ("-p", "no:cacheprovider", *NAMED)
        return [sys.executable, "-m", "pytest", *plain, *arguments, "suite"]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.call(self.command(*arguments))

    def call(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, text=True, capture_output=True,
            timeout=300, check=False,
        )  # fmt: skip

    def record(self, folder: str = "reports/t2i"):
        return json.loads((self.folder / folder / "run.json").read_text())

    def painted(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


def outcomes(record) -> dict[str, str]:
    """Metric -> verdict; of the second judge under a name of its own."""
    second = "by objects:wardrobe"
    return {
        f"second_{check['metric']}" if check["subject"].endswith(second) else check["metric"]:
        check["outcome"]
        for check in record["checks"]
    }  # fmt: skip
