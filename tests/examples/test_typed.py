"""A suite that names the types of its fixtures passes mypy --strict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SUITE = Path(__file__).parents[2] / "examples" / "own-suite"


def checked(folder, file):
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(file)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_example_passes(tmp_path):
    pytest.importorskip("mypy")
    result = checked(tmp_path, SUITE / "test_hobbies.py")
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("sample.prompt_bias_scores", "has no attribute"),
        ("sample.prompt_bias_score()", "not callable"),
    ],
)
def test_a_mistake_is_told(tmp_path, line, told):
    pytest.importorskip("mypy")
    text = (SUITE / "test_hobbies.py").read_text()
    (tmp_path / "test_it.py").write_text(
        f"{text}\n\ndef test_wrong(sample: Sample) -> None:\n    assert {line}\n"
    )
    result = checked(tmp_path, tmp_path / "test_it.py")
    assert result.returncode == 1
    assert told in result.stdout


CROWD = """
import pytest
from pytest_t2i import Crowd, Crowds, axes, limit


@pytest.mark.t2i(axes.crowd.team)
def test_one(crowd: Crowd) -> None:
    assert crowd.crowd_share_gap <= limit("crowd_share_gap", 0.5)


@pytest.mark.t2i(axes.crowd.team, axes.crowd.group)
def test_all(crowds: Crowds) -> None:
    assert abs(crowds.widest_gap) <= limit("crowd_share_gap", 0.5)
"""


def test_groups_of_people_are_typed(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "test_it.py").write_text(CROWD)
    result = checked(tmp_path, tmp_path / "test_it.py")
    assert result.returncode == 0, result.stdout
