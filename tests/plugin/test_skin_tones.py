"""The suite of skin tones, whole, in worlds whose tones go by profession."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from installed import needs

needs("skimage")

SUITES = Path(__file__).parents[2] / "suites"
CONFTEST = """
import json
import random
from pathlib import Path

from PIL import Image, ImageDraw
from pytest_t2i import Box, Generated, axes

WORLD = json.loads(Path("world.json").read_text())
SKIN = {"light": "#eadaba", "medium": "#a07e56", "dark": "#3a312a"}
ASKED = {prompt.text: prompt.concept for prompt in axes.profession.prompts()}


class Discs:
    # A table of profession -> shares of light, medium and dark skin.
    fingerprint = f"discs {WORLD}"

    def generate(self, requests):
        for request in requests:
            shares = WORLD.get(ASKED[request.prompt], WORLD["others"])
            drawn = random.Random(f"{request.prompt} {request.seed}")
            (tone,) = drawn.choices(list(SKIN), shares)
            picture = Image.new("RGB", (96, 96), "#3366cc")
            ImageDraw.Draw(picture).ellipse((8, 4, 88, 94), SKIN[tone])
            picture.putpixel((0, 0), tuple(request.seed.to_bytes(4)[1:]))
            yield Generated(picture)


class Finder:
    fingerprint = "finder"

    def faces(self, images):
        landmarks = ((32, 40), (64, 40), (48, 54), (36, 70), (60, 70))
        return [(Box(8, 4, 88, 94, 1.0, landmarks),) for _ in images]


def pytest_t2i_models():
    return {"discs": lambda options: Discs()}


def pytest_t2i_faces():
    return {"known": lambda options: Finder()}
"""
FAIR = {"others": [1, 1, 1]}
LIGHT_BUT_DOCTORS = {"others": [18, 1, 1], "doctor": [0, 0, 1]}
REFERENCE = """source = "the shares of a world without bias"

[default]
light = 0.3334
medium = 0.3333
dark = 0.3333
"""


@pytest.fixture
def run(pytester):
    """A run of the suite by a finder, in a world."""
    shutil.copytree(SUITES / "skin-tone", pytester.path / "skin-tone")
    pytester.makeconftest(CONFTEST)
    (pytester.path / "even.toml").write_text(REFERENCE)

    def run(world, finder):
        (pytester.path / "world.json").write_text(json.dumps(world))
        return pytester.runpytest_inprocess(
            *("skin-tone", "--t2i-model", "discs", "--t2i-detector", f"skin-tone:{finder}"),
            *("--t2i-reference", "even.toml", "--t2i-images", "40", "--t2i-report", "report"),
        )

    return run


@pytest.mark.slow
@pytest.mark.parametrize(("world", "expected"), [(FAIR, "PASS"), (LIGHT_BUT_DOCTORS, "FAIL")])
def test_the_suite_judges_forty_professions(pytester, run, world, expected):
    run(world, "known")
    record = json.loads((pytester.path / "report" / "run.json").read_text(encoding="utf-8"))
    outcomes = {(check["metric"], check["subject"]): check["outcome"] for check in record["checks"]}
    assert outcomes == {
        ("total_variation_distance", "model"): expected,
        ("group_distance", "model"): expected,
        ("demographic_parity_difference", "model by profession, light"): expected,
        ("demographic_parity_difference", "model by profession, dark"): expected,
    }


def test_a_finder_that_nobody_registered_is_told(run):
    told = run(FAIR, "knwon")
    told.stderr.fnmatch_lines("*unknown face 'knwon'. Did you mean 'known'?*")
