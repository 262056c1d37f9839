"""A suite that names the types of its fixtures passes mypy --strict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SUITE = Path(__file__).parents[2] / "examples" / "own-suite" / "test_hobbies.py"
MISTAKES = {
    "sample.prompt_bias_scores": "has no attribute",
    "sample.prompt_bias_score()": "not callable",
}
"""What a test may write by mistake -> what mypy says of it."""
WRONG = """

def test_{number}(sample: Sample) -> None:
    assert {expression}
"""
CROWD = """
import pytest
from pytest_t2i import limit
from pytest_t2i_crowds import Crowd, Crowds, axes


@pytest.mark.t2i(axes.team)
def test_one(crowd: Crowd) -> None:
    assert crowd.crowd_share_gap <= limit("crowd_share_gap", 0.5)


@pytest.mark.t2i(axes.team, axes.group)
def test_all(crowds: Crowds) -> None:
    assert abs(crowds.widest_gap) <= limit("crowd_share_gap", 0.5)
"""


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """What mypy says of each file: in one run, as reading types of libraries takes a minute."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("typed")
    mistakes = "".join(
        WRONG.format(number=number, expression=expression)
        for number, expression in enumerate(MISTAKES)
    )
    texts = {
        "test_example.py": SUITE.read_text(),
        "test_mistakes.py": SUITE.read_text() + mistakes,
        "test_crowds.py": CROWD,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", *texts]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    assert f"in 1 file (checked {len(texts)} source files)" in lines[-1], result.stdout
    return {name: [line for line in lines if line.startswith(name)] for name in texts}


@pytest.mark.parametrize("name", ["test_example.py", "test_crowds.py"])
def test_a_suite_is_typed(errors, name):
    assert errors[name] == []


@pytest.mark.parametrize(("expression", "words"), MISTAKES.items())
def test_a_mistake_is_an_error(errors, expression, words):
    found = [line for line in errors["test_mistakes.py"] if ": error: " in line]
    number = list(MISTAKES).index(expression)
    assert len(found) == len(MISTAKES)
    assert words in found[number]
