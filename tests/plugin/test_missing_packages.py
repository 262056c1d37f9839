"""All that is missing is told at once, before an image is made."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pytest_t2i.data import GenerationSettings, Prompt
from pytest_t2i.errors import MissingExtraError
from pytest_t2i.generation.check_plan import OF_TESTS, check_packages
from pytest_t2i.generation.plan import DetectorRef, Need, Plan, RequestSettings

CONFTEST = """
import fakes
from pytest_t2i.errors import MissingExtraError

class Absent:
    def __init__(self, extra, module):
        raise MissingExtraError(f"the part {extra}", extra, module)

def pytest_t2i_models():
    return {"fair": fakes.fair}

def pytest_t2i_detectors():
    return {"colour": fakes.detector, "absent": lambda options: Absent("fairface", "timm")}

def pytest_t2i_encoders():
    return {"clip": lambda options: Absent("open-clip", "open_clip")}
"""
SUITE = """
import pytest
from pytest_t2i import axes

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"), extras=("faces", "nouns"))
def test_it(triplets):
    raise AssertionError("nothing to look at")
"""


@pytest.fixture
def blocked(monkeypatch):
    for name in ("dlib", "textblob", "lemminflect"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("blocked")
def test_everything_is_told_at_once(project):
    project.write({"conftest.py": CONFTEST, "test_suite.py": SUITE})
    code, told = project.refused("--t2i-detector", "colour,absent")
    assert code == 4
    assert "4 packages are not installed" in told or "5 packages are not installed" in told
    for package in ("'dlib' (dlib's face detectors)", "'textblob'", "'lemminflect'", "'open_clip'"):
        assert package in told
    assert "Nothing was made." in told
    assert 'pip install "pytest-t2i[faces,nouns,' in told
    assert project.made() == []


@pytest.mark.usefixtures("blocked")
def test_one_alone_is_told_as_ever(project):
    project.write({"conftest.py": CONFTEST, "test_suite.py": SUITE})
    suite = SUITE.replace("triplets", "samples").replace('"faces", "nouns"', '"faces",')
    project.write({"test_suite.py": suite})
    code, told = project.refused("--t2i-detector", "colour")
    assert code == 4
    assert "dlib's face detectors needs the package 'dlib', which is not installed." in told
    assert 'pip install "pytest-t2i[faces]"' in told
    assert project.made() == []


EXTRAS = ', extras=("faces", "nouns")'
SITE = "import without; without.hide('torch', 'diffusers', 'transformers', 'huggingface_hub')"


@pytest.mark.slow
def test_a_model_without_its_packages(project, monkeypatch):
    """As after a plain installation: the model is told before its detector."""
    project.write(
        {
            "absent/sitecustomize.py": SITE,
            "test_suite.py": SUITE.replace("triplets", "samples").replace(EXTRAS, ""),
        }
    )
    path = os.pathsep.join([str(project.path / "absent"), str(Path(__file__).parent.parent)])
    monkeypatch.setenv("PYTHONPATH", path, prepend=os.pathsep)
    result = project.run_apart("--t2i-model", "sdxl", model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: 1 package is not installed: 'torch' (the model sdxl, the detector "
            "clip-enhance). Nothing was made. "
            'Run: pip install "pytest-t2i[[]diffusers,clip-enhance]"'
        ]
    )


def test_an_extra_that_is_none_is_refused(project):
    project.write({"test_suite.py": SUITE.replace('"nouns"', '"nuns"')})
    code, told = project.refused()
    assert code == 2
    assert "marker t2i: an extra is one of" in told
    assert "got 'nuns'" in told


def test_each_part_is_asked_and_another_error_comes_as_it_is():
    class Parts:
        def model(self):
            raise MissingExtraError("the model", "diffusers", "diffusers")

        def detector(self, ref):
            raise MissingExtraError("the detector", "clip", "torch")

        encoder = finder = detector

    plan = Plan(RequestSettings(GenerationSettings()))
    plan.add(Need(Prompt("a nurse", "job", "nurse"), (0,), frozenset({DetectorRef("clip")})))
    with pytest.raises(Exception, match=r"'diffusers' \(the model\), 'torch' \(the detector\)"):
        check_packages(plan, Parts())
    broken = type("Broken", (Parts,), {"model": lambda self: 1 / 0})
    with pytest.raises(ZeroDivisionError):
        check_packages(plan, broken())


def test_extras_of_tests_are_those_of_the_package():
    assert {"nouns", "faces", "clip", "timm"} <= set(OF_TESTS)
