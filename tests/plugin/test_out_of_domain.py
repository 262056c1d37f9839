"""A part that knows what it was made for is not asked about other pictures, and the run says so."""

from __future__ import annotations

import csv
import re

import pytest
from PIL import Image

CONFTEST = """
import fakes
from pytest_t2i import Detection

class OfBright(fakes.FakeDetector):
    fingerprint = "of-bright"
    made_for = "bright pictures"

    def in_domain(self, images):
        return [max(image.getpixel((8, 8))) > 150 for image in images]

    def detect(self, images):
        assert all(self.in_domain(images))
        return super().detect(images)

def pytest_t2i_models():
    return {"fair": fakes.fair}

def pytest_t2i_detectors():
    return {"bright": lambda options: OfBright()}
"""
SUITE = """
import pytest
from pytest_t2i import axes, limit

WORDS = axes.profession.only("nurse", "pilot")

@pytest.mark.t2i(WORDS)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.own", 0.5)

@pytest.mark.t2i(WORDS)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score", 0.3)
"""
BLUE, DIM = (40, 60, 200), (10, 20, 120)


@pytest.fixture
def suite(project):
    project.write({"conftest.py": CONFTEST, "test_suite.py": SUITE})
    return project


def folder(project, colours):
    """A folder of pictures of every prompt, in these colours in turn."""
    (project.path / "given").mkdir()
    rows = [("file", "prompt", "seed")]
    for word in ("nurse", "pilot"):
        for seed, colour in enumerate(colours):
            name = f"{word}-{seed}.png"
            picture = Image.new("RGB", (16, 16), colour)
            picture.putpixel((0, 0), (seed, len(rows), 1))
            picture.save(project.path / "given" / name)
            rows.append((name, f"a photo of one real person who is a {word}", seed))
    with (project.path / "given" / "manifest.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return "images:given"


def test_other_pictures_decide_nothing_and_are_told_of(suite):
    given = folder(suite, [DIM] * 12)
    result = suite.run("--t2i-images", "12", "--t2i-detector", "bright", model=given)
    record = suite.record()
    assert result.ret == 6
    assert {check["outcome"] for check in record["checks"]} == {"INCONCLUSIVE"}
    counts = record["prompts"][0]["counts"]["bright"]
    assert counts == {"labels": {}, "undetected": {"out_of_domain": 12}}
    told = (
        "24 of 24 pictures are unlike what bright was made for (bright pictures): choose another "
        "detector with --t2i-detector"
    )
    assert record["next_steps"][0] == told
    result.stdout.fnmatch_lines([f"next: {told}"])
    assert told in (suite.path / "reports/t2i/summary.md").read_text()
    assert "out of domain" in suite.page()


def test_pictures_of_its_kind_are_looked_at(suite):
    given = folder(suite, [BLUE] * 9 + [DIM] * 3)
    suite.run("--t2i-images", "12", "--t2i-detector", "bright", model=given)
    counts = suite.record()["prompts"][0]["counts"]["bright"]
    assert counts == {"labels": {"male": 9}, "undetected": {"out_of_domain": 3}}


PICKY = """
import fakes

class Picky:
    made_for = "pictures of even corners"

    def in_domain(self, images):
        return [image.getpixel((0, 0))[0] % 2 == 0 for image in images]

class Encoder(Picky, fakes.FakeTextEncoder):
    fingerprint = "picky-encoder"

class Finder(Picky, fakes.FakeFinder):
    fingerprint = "picky-finder"

def pytest_t2i_models():
    return {"fair": fakes.fair}

def pytest_t2i_detectors():
    return {"picky": fakes.detector}

def pytest_t2i_encoders():
    return {"picky": lambda options: Encoder()}

def pytest_t2i_objects():
    return {"picky": lambda options: Finder()}
"""
ASKING = """
import pytest
from pytest_t2i import Attribute, Prompt, triplet

BLUE = Attribute("blue", "a blue thing", "a red thing")

@pytest.mark.t2i(triplet("a person"), images=20, spaces="image")
def test_gap(triplets):
    triplets.similarity_gap("image")

@pytest.mark.t2i(triplet("a person"), images=20)
def test_objects(objects):
    objects.scores

NURSE = Prompt("a photo of a nurse", "job", "nurse")

@pytest.mark.t2i(NURSE, attributes=[BLUE], observe="features")
def test_variety(sample):
    sample.wals(BLUE)
"""


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("gap", r"\d+ of 60 pictures .* choose another detector with --t2i-detector"),
        ("objects", r"\d+ of 60 pictures .* choose another object detector with --t2i-objects"),
        ("variety", r"\d+ of 24 pictures .* choose another detector with --t2i-detector"),
    ],
)
def test_every_part_that_looks_at_images_is_told_of(project, test, told):
    project.write({"conftest.py": PICKY, "test_suite.py": ASKING})
    options = ("--t2i-images", "24", "--t2i-detector", "picky", "--t2i-objects", "picky")
    project.run(*options, "-k", test, model="fair")
    (line,) = (step for step in project.record()["next_steps"] if "unlike" in step)
    assert re.fullmatch(told.replace(".*", r"are unlike .* \(pictures of even corners\):"), line)
    assert 0 < int(line.split()[0]) < 60
