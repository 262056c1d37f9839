"""A small project with a fake model: what a user's folder looks like to the plugin."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

# Compiled modules load once per process: they must be there before pytester takes the snapshot
# of modules that it goes back to.
import numpy as np
import PIL.Image
import pytest
import scipy.stats

PRELOADED = (np, PIL.Image, scipy.stats)
FAKES = Path(__file__).parent.parent / "fakes.py"

CONFTEST = """
import fakes

def pytest_t2i_models():
    return {"fair": fakes.fair, "biased": fakes.biased, "other": fakes.other}

def pytest_t2i_detectors():
    return {"colour": fakes.detector, "second": fakes.detector, "hazy": fakes.hazy}

def pytest_t2i_encoders():
    return {"clip": fakes.encoder}
"""

SUITE = """
import pytest
from pytest_t2i import axes, limit, Stereotype, triplet
from pytest_t2i.data import Attribute, Prompt

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")

@pytest.mark.t2i(PEOPLE, axes.place.only("gym", "mall"))
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score")

@pytest.mark.t2i(PEOPLE, images=4)
@pytest.mark.parametrize("space", ["prompt", "denoising", "image", "ssim"])
def test_gap(triplets, space):
    assert abs(triplets.similarity_gap(space)) <= limit(f"similarity_gap.{space}")

def test_unmarked():
    assert True
"""

LIMITS = """
prompt_bias_score = 0.6
model_bias_score = 0.3
[similarity_gap]
prompt = 0.5
denoising = 0.6
image = 0.5
ssim = 0.5
"""


class Project:
    """A folder with a suite, and what running it left behind."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester, self.path, self.monkeypatch = pytester, pytester.path, monkeypatch
        shutil.copy(FAKES, self.path / "fakes.py")
        (self.path / "conftest.py").write_text(CONFTEST)
        (self.path / "test_suite.py").write_text(SUITE)
        (self.path / "limits.toml").write_text(LIMITS)
        self.log = self.path / "made.log"
        monkeypatch.setenv("FAKE_LOG", str(self.log))
        monkeypatch.setenv("PYTHONPATH", str(self.path))

    def run(self, *arguments: str, model: str | None = "fair") -> pytest.RunResult:
        """Run pytest in a process of its own."""
        named = ["--t2i-model", model] if model and "--t2i-model" not in arguments else []
        if "--t2i-detector" not in arguments:
            named += ["--t2i-detector", "colour"] if model else []
        return self.pytester.runpytest_subprocess(*named, *arguments)

    def refused(self, *arguments: str) -> tuple[int, str]:
        """Run pytest in this process, for what ends before anything is made: exit code, text."""
        with self.monkeypatch.context() as patch:
            patch.syspath_prepend(str(self.path))
            named = ["--t2i-model", "fair", "--t2i-detector", "colour"]
            result = self.pytester.runpytest_inprocess(*named, *arguments)
        told = result.stderr.str() + result.stdout.str()
        assert "Traceback" not in told
        return int(result.ret), " ".join(told.split())

    def made(self) -> list[str]:
        """Every image made so far: "seed prompt"."""
        if not self.log.exists():
            return []
        return [line.split(" ", 1)[1] for line in self.log.read_text().splitlines()]

    def record(self) -> dict[str, Any]:
        """The last run.json."""
        found: dict[str, Any] = json.loads((self.path / "reports/t2i/run.json").read_text())
        return found


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a fake model."""
    return Project(pytester, monkeypatch)
