"""``sample.origins``: clusters and prompts of images that are there; nothing is made for them."""

from __future__ import annotations

import shutil

from project_files import FAKES, FILES

PARTS = """
from pytest_t2i.data import Box, NextToken

class Whole:
    fingerprint = "whole"
    def faces(self, images):
        return [[Box(0, 0, *image.size)] for image in images]

class Echo:
    asked, loaded = [], 0
    def next_tokens(self, texts, count):
        self.asked.append(texts)
        return [[NextToken(f"{text} blue", 0.5), NextToken(f"{text} red", 0.5)] for text in texts]

def whole(options):
    return Whole()

def echo(options):
    Echo.loaded += 1
    return Echo()

def mute(options):
    return object()
"""
SUITE = """
import pytest
from pytest_t2i import Attribute, Prompt, Stereotype
import parts

NURSE = Prompt("a photo of a nurse", "profession", "nurse")
BLUE = Stereotype(NURSE, Attribute("blue", "blue", "red"), 0.5)
RED = Stereotype(NURSE, Attribute("red", "red", "blue"), 0.5)

MISTAKES = {
    "no llm": {"llm": ""}, "None": {"llm": None}, "clusters": {"clusters": 0},
    "words": {"clusters": "two"}, "explained": {"explained": -3}, "tokens": {"tokens": 0},
    "stereotypes": {"stereotypes": ["beard"]}, "likely": {"likely": 2.0},
}

@pytest.mark.t2i(NURSE)
@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(sample, name):
    sample.origins(**{"llm": "parts:echo", "faces": "parts:whole", **MISTAKES[name]})

@pytest.mark.t2i(NURSE)
def test_origins(sample):
    origins = sample.origins(
        "parts:echo", stereotypes=[BLUE], faces="parts:whole", clusters=2, tokens=1, top=1
    )
    assert [one.prompts[0].text for one in origins.clusters] == [
        "This is a photo of blue", "This is a photo of red"
    ]
    assert [one.excess for one in origins.clusters] == [0.5, 0.0]
    assert sum(len(one.members) for one in origins.clusters) == origins.images == 20
    again = sample.origins(
        "parts:echo", stereotypes=[BLUE], faces="parts:whole", clusters=2, tokens=1, top=1
    )
    assert again is origins
    assert len(parts.Echo.asked) == 2
    for asked, names in (([BLUE, RED], {"blue", "red"}), ([RED], {"red"}), ([], set())):
        other = sample.origins("parts:echo", stereotypes=asked, faces="parts:whole", clusters=2)
        assert set(other.clusters[0].shares) == names
    assert parts.Echo.loaded == 1

@pytest.mark.t2i(NURSE)
@pytest.mark.parametrize("llm", ["parts:mute", "ecko"])
def test_no_language_model(sample, llm):
    sample.origins(llm, faces="parts:whole")

@pytest.mark.t2i(NURSE, images=3)
def test_too_few(sample):
    sample.origins("parts:echo", faces="parts:whole")
"""
CONFTEST = """
import fakes

def pytest_t2i_encoders():
    return {"clip": fakes.text_encoder}
"""


def test_origins_of_a_sample(pytester, monkeypatch):
    conftest = f"{FILES['conftest.py']}\n{CONFTEST}"
    files = {"parts.py": PARTS, "test_suite.py": SUITE, "conftest.py": conftest}
    for name, text in files.items():
        (pytester.path / name).write_text(text)
    shutil.copy(FAKES, pytester.path / "fakes.py")
    monkeypatch.setenv("FAKE_LOG", str(pytester.path / "made.log"))
    monkeypatch.setenv("COLUMNS", "240")
    monkeypatch.syspath_prepend(pytester.path)
    result = pytester.runpytest_subprocess("--t2i-model", "fair", "--t2i-detector", "colour")
    told = result.stdout.str()
    assert len((pytester.path / "made.log").read_text().splitlines()) == 20
    assert "--llm parts:mute: expected a language model that continues texts, got object" in told
    assert "unknown language 'ecko'" in told
    assert "3 images with a face: too few for several clusters" in told
    for expected in (
        "llm names a language model, such as 'reference-lm', got ''",
        "llm names a language model, such as 'reference-lm', got None",
        "clusters is a whole number from 1 on, got 0",
        "clusters is a whole number from 1 on, got 'two'",
        "explained is a whole number from 1 on, got -3",
        "tokens is a whole number from 1 on, got 0",
        "stereotypes: expected Stereotypes, got 'beard'",
        "likely is a probability of at least 0 and below 1, got likely=2.0",
    ):
        assert f"Failed: {expected}" in told
    result.assert_outcomes(passed=1, failed=11)
