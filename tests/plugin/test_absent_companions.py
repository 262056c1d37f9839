"""A companion that is not installed: what is asked of it says so, and its runs are still read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parent.parent
RUN = (
    "-m", "pytest", "-p", "no:cacheprovider", "--t2i-model", "fair", "--t2i-detector", "colour",
)  # fmt: skip
T2I = "import sys; from pytest_t2i.cli.main import main; sys.exit(main(sys.argv[1:]))"
PARTS = """
from pytest_t2i import Box, NextToken

class Whole:
    fingerprint = "whole"
    def faces(self, images):
        return [[Box(0, 0, *image.size)] for image in images]

class Echo:
    def next_tokens(self, texts, count):
        return [[NextToken(f"{text} blue", 0.5), NextToken(f"{text} red", 0.5)] for text in texts]

def whole(options):
    return Whole()

def echo(options):
    return Echo()
"""
ORIGINS = """
import pytest
from pytest_t2i import Attribute, Prompt, Stereotype, limit

NURSE = Prompt("a photo of a nurse", "profession", "nurse")
KNOWN = [Stereotype(NURSE, Attribute(*words), 0.5) for words in (
    ("blue", "blue", "red"), ("red", "red", "blue")
)]

@pytest.mark.t2i(NURSE)
def test_figure(sample):
    found = sample.origins(
        "parts:echo", stereotypes=KNOWN, faces="parts:whole", clusters=2, tokens=1, top=1
    )
    assert found.stock_figure({"blue": {"blue"}, "red": {"red"}}) <= limit("stock_figure", 0.9)
"""
TEXTS = """
import fakes

def pytest_t2i_encoders():
    return {"clip": fakes.text_encoder}
"""


class Companion(NamedTuple):
    """What a companion brings, in a project that uses it."""

    command: str
    suite: str
    """One test, which the audit of the companion judges."""
    files: dict[str, str]
    """Further files; that of ``conftest.py`` follows the project's own."""
    metric: str
    """The metric of its check in run.json."""
    packages: tuple[str, ...] = ()
    """Packages that it needs to be tried here."""


COMPANIONS = {
    "origins": Companion(
        "research stop",
        ORIGINS,
        {"parts.py": PARTS, "conftest.py": TEXTS},
        "stock_figure",
        ("sklearn",),
    ),
}
"""End of a companion's name -> what it brings."""


@pytest.fixture(params=COMPANIONS)
def name(request):
    for module in (f"pytest_t2i_{request.param}", *COMPANIONS[request.param].packages):
        pytest.importorskip(module)
    return request.param


@pytest.fixture
def companion(name, project):
    """The companion's suite in a project."""
    own = COMPANIONS[name]
    (project.path / "limits.toml").unlink()
    added = own.files | {"conftest.py": (project.path / "conftest.py").read_text()}
    added["conftest.py"] += own.files.get("conftest.py", "")
    project.write(added | {"test_suite.py": own.suite})
    return own


@pytest.fixture
def without(name, project):
    """Run a module of Python or a command of t2i where the companion is not installed."""
    place = project.path / "absent"
    metadata = place / f"pytest_t2i_{name}-0.1.0.dist-info"
    # The first distribution of a name counts: this one registers nothing.
    project.write({
        f"absent/{metadata.name}/METADATA":
            f"Metadata-Version: 2.1\nName: pytest-t2i-{name}\nVersion: 0.1.0\n",
        f"absent/{metadata.name}/entry_points.txt": "",
        "absent/sitecustomize.py": f"import without; without.hide('pytest_t2i_{name}')\n",
    })  # fmt: skip

    def run(*command):
        inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        path = os.pathsep.join([str(place), str(TESTS), str(project.path), *inherited])
        environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "240"}
        return subprocess.run(
            [sys.executable, *command],
            cwd=project.path, env=environment, capture_output=True, text=True, check=False,
            timeout=200,
        )  # fmt: skip

    return run


def install(name):
    return f"Run: pip install pytest-t2i-{name} (in a clone: pip install ./plugins/pytest-t2i-"


def test_its_command_says_what_to_install(name, without):
    done = without("-c", T2I, *COMPANIONS[name].command.split())
    assert done.returncode == 2
    assert f"is not installed. {install(name)}" in done.stderr
    assert "Traceback" not in done.stderr


def test_its_fixture_says_what_to_install(name, companion, project, without):
    plain = re.sub(r'limit\("\w+", ([\d.]+)\)', r"\1", companion.suite)
    project.write({"test_suite.py": plain})
    done = without(*RUN)
    assert done.returncode == 1, done.stdout
    assert install(name) in " ".join(done.stdout.split())


def test_a_limit_on_its_metric_says_what_to_install(name, companion, without):
    done = without(*RUN)
    assert done.returncode == 4, done.stdout
    assert f"unknown limit '{companion.metric}'" in done.stderr
    assert install(name) in done.stderr


def test_a_run_with_its_audit_is_still_rendered(name, companion, project, without):
    project.run().assert_outcomes(passed=1)
    (check,) = project.record()["checks"]
    assert check["metric"] == companion.metric
    before = (project.path / "reports/t2i/index.html").read_text()
    done = without("-c", T2I, "report", "reports/t2i/run.json", "again")
    assert done.returncode == 0, done.stderr
    after = (project.path / "again/index.html").read_text()
    words = companion.metric.replace("_", " ")
    assert words in before
    assert words in after
    assert check["outcome"] in after
    for shown in (f"{check['estimate']:.2f}", f"{check['low']:.2f}", f"{check['high']:.2f}"):
        assert (shown in before) == (shown in after)
    assert json.loads((project.path / "reports/t2i/run.json").read_text())["checks"] == [check]
