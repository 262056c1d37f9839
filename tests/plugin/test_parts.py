"""Parts that a conftest.py registers, and what the default detector says when it cannot be had."""

from __future__ import annotations

import os

import pytest

ABSENT = "import sys; sys.modules['ultralytics'] = None  # as if it were not installed"


def test_parts_of_a_conftest_are_taken(project):
    conftest = project.path / "conftest.py"
    text = conftest.read_text()
    conftest.write_text(text + "\ndef pytest_t2i_faces(): return {'own': fakes.encoder}\n")
    project.run("-k", "test_unmarked").assert_outcomes(passed=1)


@pytest.mark.parametrize(("kind", "hook"), [("face", "faces"), ("person", "persons")])
def test_a_part_must_be_a_factory(project, kind, hook):
    conftest = project.path / "conftest.py"
    text = conftest.read_text()
    conftest.write_text(text + f"\ndef pytest_t2i_{hook}(): return {{'own': 3}}\n")
    result = project.run("-k", "test_unmarked")
    result.stderr.fnmatch_lines([f"*expected a factory for {kind} 'own', got 3*"])


def test_a_factory_that_takes_no_options_says_which(project):
    conftest = project.path / "conftest.py"
    text = conftest.read_text()
    conftest.write_text(text + "\ndef pytest_t2i_faces(): return {'own': lambda: 3}\n")
    result = project.run("-k", "test_unmarked")
    said = "*face 'own': expected a factory with one parameter, LoadOptions, *got one with ()*"
    result.stderr.fnmatch_lines([said])


def test_so_does_one_of_a_module(project):
    project.write({"mine.py": "make = lambda: 3"})
    result = project.run("-k", "test_prompt", "--t2i-model", "mine:make", model=None)
    said = (
        "*model 'mine:make': expected a factory with one parameter, LoadOptions, *got one with ()*"
    )
    result.stderr.fnmatch_lines([said])


@pytest.mark.slow
def test_the_default_detector_says_what_to_install(project, monkeypatch):
    project.write({"absent/sitecustomize.py": ABSENT})
    monkeypatch.setenv("PYTHONPATH", str(project.path / "absent"), prepend=os.pathsep)
    few = ("--t2i-images", "2", "-k", "test_prompt")
    result = project.run_apart("--t2i-model", "fair", *few, model=None)
    result.stdout.fnmatch_lines(["*detector clip-enhance,*"])
    assert result.ret != 0
    said = result.stdout.str() + result.stderr.str()
    assert "the detector clip-enhance needs the package 'ultralytics'" in said
    assert 'pip install "pytest-t2i[clip-enhance]"' in said
