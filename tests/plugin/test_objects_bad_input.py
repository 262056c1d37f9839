"""Every fault of captions, finders and attention ends in one clear message."""

from __future__ import annotations

import sys

import pytest

from pytest_t2i.prompts import words_in_prompts

USAGE = pytest.ExitCode.USAGE_ERROR
OBJECTS = ("--t2i-objects", "things")
SUITE = """
import pytest
from pytest_t2i import captions, limit

PEOPLE = captions.or_else("a person in a park", "a person with a cup")

@pytest.mark.t2i(PEOPLE, images=1)
def test_objects(objects):
    assert objects.highest_bias_score <= limit("object_bias_score", 0.7)
"""
GROUPS = """
import pytest
from pytest_t2i import limit

@pytest.mark.t2i("a person in a park", "a person with a cup", images=2)
def test_groups(dependencies):
    assert dependencies.highest_bias_score("explicitly_guided") <= limit("object_bias_score", 0.7)
"""
FINDERS = """
import fakes
import numpy as np
from pytest_t2i import Box, FoundObject, Mask

class Finder:
    fingerprint = "mine"
    def __init__(self, answer):
        self.answer = answer
    def objects(self, images):
        return [self.answer(image) for image in images]

def small(image):
    return [FoundObject("tie", Box(0, 0, 4, 4, 0.9), Mask.of(np.ones((2, 3), bool)))]

def pytest_t2i_models():
    return {"fair": fakes.fair}

def pytest_t2i_detectors():
    return {"colour": fakes.detector}

def pytest_t2i_objects():
    return {
        "small": lambda options: Finder(small),
        "words": lambda options: Finder(lambda image: ["tie"]),
        "nothing": lambda options: Finder(lambda image: None),
        "broken": lambda options: Finder(lambda image: 1 / 0),
    }
"""


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("absent.json", None, "absent.json: no such caption file"),
        ("folder", "", "folder: "),
        ("empty.txt", b"", "empty.txt: expected a neutral caption, found none"),
        ("none.txt", b"a horse\na boy and a person\n", "none.txt: expected a neutral caption"),
        ("images.json", b'{"images": [{"id": 1}]}', "expected the captions of COCO"),
        ("cut.json", b'{"annotations": [', "cut.json: line 1 column 18: is not valid JSON"),
        ("numbers.json", b'{"annotations": [{"caption": 3}]}', "expected a text as 'caption'"),
        (
            "table.tsv",
            b"a person\t3\n",
            "table.tsv: line 1: expected a caption, a tab and the",
        ),
        ("mixed.tsv", b"a person\thttp://x/1.jpg\na person\n", "mixed.tsv: line 2: expected a tab"),
        ("picture.png", b"\x89PNG\r\n\x1a\n\x00\xff", "picture.png: "),
        ("long.txt", b"a person " * 200, "long.txt: line 1: expected a caption of at most 1000"),
    ],
)
def test_captions(project, name, content, expected):
    project.write({"test_suite.py": SUITE})
    if content == "":
        (project.path / name).mkdir()
    elif content is not None:
        (project.path / name).write_bytes(content)
    code, told = project.refused(*OBJECTS, "--t2i-captions", name)
    assert code == USAGE, told
    assert expected in told
    assert project.made() == []


@pytest.mark.parametrize(
    ("finder", "expected"),
    [
        (
            "small",
            "object detector 'small': the mask of 'tie' is 3 x 2 pixels, its picture 16 x 16",
        ),
        ("words", "object detector 'words': expected a list of pytest_t2i.FoundObject"),
        ("nothing", "object detector 'nothing': expected a list of pytest_t2i.FoundObject"),
        ("broken", "object detector 'broken' failed: ZeroDivisionError: division by zero"),
    ],
)
def test_what_a_finder_may_not_answer(project, finder, expected):
    project.write({"conftest.py": FINDERS, "test_suite.py": SUITE})
    result = project.run("--t2i-objects", finder)
    told = " ".join((result.stdout.str() + result.stderr.str()).split())
    assert expected in told
    assert "Traceback" not in told
    assert result.ret not in (0, pytest.ExitCode.INTERNAL_ERROR)


def test_a_model_without_attention_leaves_groups_inconclusive(project):
    project.write({"test_suite.py": GROUPS})
    result = project.run(*OBJECTS)
    told = " ".join(result.stdout.str().split())
    nothing = "INCONCLUSIVE: There is nothing to decide on: this model does not show word attention"
    assert f"{nothing}: groups need a UNet or an MM-DiT." in told
    assert "number of images" not in told
    assert "Traceback" not in told
    assert result.ret == 6


def test_objects_that_are_too_rare_are_no_want_of_images(project):
    project.write({"test_suite.py": SUITE})
    told = " ".join(project.run(*OBJECTS).stdout.str().split())
    assert "nothing to decide on: no object occurs 10 times with both genders together." in told


def test_nouns_without_their_extra(project, monkeypatch):
    words_in_prompts.nouns.cache_clear()
    for name in ("textblob", "textblob.en", "lemminflect"):
        monkeypatch.setitem(sys.modules, name, None)
    project.write({"test_suite.py": GROUPS})
    code, told = project.refused(*OBJECTS)
    assert code == USAGE
    assert "'textblob' (nouns of prompts), 'lemminflect' (nouns of prompts)" in told
    assert 'pip install "pytest-t2i[nouns]"' in told
    assert project.made() == []
