"""A mitigation around a model of a project, by the option alone."""

from __future__ import annotations

import json

import pytest

CONFTEST = '''
from PIL import Image
from pytest_t2i import Detection, Generated

BLUE, RED = (40, 60, 200), (200, 60, 40)

class Men:
    """Paints men, unless a woman is asked for."""

    fingerprint = "men"

    def generate(self, requests):
        for request in requests:
            with open("made.log", "a") as log:
                print(request.seed, request.prompt, file=log)
            women = {"female", "woman"} & set(request.prompt.split())
            picture = Image.new("RGB", (16, 16), RED if women else BLUE)
            picture.putpixel((0, 0), tuple(request.seed.to_bytes(4)[1:]))
            yield Generated(picture)

class Colours:
    fingerprint, labels = "colours", ("male", "female")

    def detect(self, images):
        return [Detection("male" if i.getpixel((8, 8)) == BLUE else "female") for i in images]

def pytest_t2i_models():
    return {"men": lambda options: Men()}

def pytest_t2i_detectors():
    return {"colours": lambda options: Colours()}
'''
SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot", "judge"), axes.place.only("gym", "mall"))
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score", 0.5)
"""


@pytest.fixture
def run(pytester, monkeypatch):
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_people=SUITE)
    monkeypatch.setenv("COLUMNS", "240")

    def run(*arguments):
        named = ("--t2i-model", "men", "--t2i-detector", "colours", "--t2i-images", "4")
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *named, *arguments)

    return run


def made(pytester):
    return (pytester.path / "made.log").read_text().splitlines()


def score(pytester):
    record = json.loads((pytester.path / "reports/t2i/run.json").read_text())
    return record["checks"][0]["estimate"]


@pytest.mark.slow
def test_random_counterpart_makes_the_score_fall_and_nothing_twice(run, pytester):
    many = ("--t2i-images", "40")
    assert run(*many).ret == 1
    assert score(pytester) > 0.99
    assert run(*many, "--t2i-mitigation", "random-counterpart").ret == 0
    assert score(pytester) < 0.2
    assert len(made(pytester)) == 400
    again = run(*many, "--t2i-mitigation", "random-counterpart:share=0.5")
    again.stdout.fnmatch_lines(["images: 0 made, 200 from the store"])
    assert len(made(pytester)) == 400


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("random-counterpart:share=2", "share: expected a number from 0 to 1, got 2"),
        ("random-counterpart:part=1", "unknown key of mitigation 'random-counterpart' 'part'"),
        ("random-counterpat", "Did you mean 'random-counterpart'? Known: fair-diffusion"),
    ],
)
def test_a_bad_name_or_key_is_one_line(run, asked, told):
    result = run("--t2i-mitigation", asked)
    assert result.ret == 4
    assert told in result.stderr.str() + result.stdout.str()
