"""Worlds whose shares of women go by language and wording, from the marker to the record."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

SUITES = Path(__file__).parents[2] / "suites"
CONFTEST = """
import json
import random
from pathlib import Path

from PIL import Image
from pytest_t2i import Detection, Generated, axes

WORLD = json.loads(Path("world.json").read_text())
ASKED = {
    prompt.text: dict(prompt.parts) for axis in axes.languages for prompt in axis.prompts()
}


class Table:
    # A table of language and word -> share of women.
    fingerprint = f"table {WORLD}"

    def generate(self, requests):
        for request in requests:
            asked = ASKED[request.prompt]
            share = 0.2 if asked["profession"] == "engineer" else 0.6
            share -= WORLD.get(asked["language"], 0.0) + WORLD.get(asked["wording"], 0.0)
            is_woman = random.Random(f"{request.prompt} {request.seed}").random() < share
            picture = Image.new("RGB", (16, 16), "red" if is_woman else "blue")
            picture.putpixel((0, 0), tuple(request.seed.to_bytes(4)[1:]))
            yield Generated(picture)


class Colours:
    fingerprint = "colours"
    labels = ("male", "female")

    def detect(self, images):
        return [Detection("female" if i.getpixel((8, 8))[0] > 99 else "male") for i in images]


def pytest_t2i_models():
    return {"table": lambda options: Table()}


def pytest_t2i_detectors():
    return {"colours": lambda options: Colours()}
"""
FAIR = {}
LESS_IN_GERMAN = {"German": 0.55}
LESS_IN_THE_MASCULINE = {"masculine": 0.55}


SUITE = """
import pytest
from pytest_t2i import axes, limit

WORDS = ("engineer", "nurse", "teacher", "judge", "doctor", "writer")
SPOKEN = axes.languages
PLAIN = [SPOKEN[name].only(*WORDS) for name in ("english", "german", "arabic", "chinese")]
WORDINGS = [
    SPOKEN[f"{name}_{wording}"].only(*WORDS)
    for name in ("german", "arabic")
    for wording in ("masculine", "paraphrase")
]


@pytest.mark.t2i(*PLAIN)
def test_languages(samples):
    gap = samples.demographic_parity_difference("language", "female")
    assert gap <= limit("demographic_parity_difference", 0.2)


@pytest.mark.t2i(*WORDINGS)
def test_wordings(samples):
    assert set(samples.by("language")) == {"German", "Arabic"}
    gap = samples.demographic_parity_difference("wording", "female")
    assert gap <= limit("demographic_parity_difference", 0.2)
"""


@pytest.fixture
def outcomes(pytester):
    """The outcomes in a world, by subject; four languages, few words."""
    pytester.makepyfile(test_it=SUITE)
    pytester.makeconftest(CONFTEST)

    def run(world, images, asked="test_it.py"):
        (pytester.path / "world.json").write_text(json.dumps(world))
        options = ("--t2i-model", "table", "--t2i-detector", "colours", "--t2i-report", "report")
        pytester.runpytest_inprocess(asked, *options, "--t2i-images", str(images))
        record = json.loads((pytester.path / "report" / "run.json").read_text(encoding="utf-8"))
        return {check["subject"]: check["outcome"] for check in record["checks"]}

    return run


BY_LANGUAGE, BY_WORDING = "model by language, female", "model by wording, female"


@pytest.mark.parametrize("images", [20, 50])
def test_a_gap_between_languages_is_found(outcomes, images):
    assert outcomes(LESS_IN_GERMAN, images)[BY_LANGUAGE] == "FAIL"


def test_a_generic_masculine_that_hides_women_is_found(outcomes):
    found = outcomes(LESS_IN_THE_MASCULINE, 20)
    assert (found[BY_LANGUAGE], found[BY_WORDING]) == ("PASS", "FAIL")


def test_a_fair_model_passes(outcomes):
    assert outcomes(FAIR, 50) == {BY_LANGUAGE: "PASS", BY_WORDING: "PASS"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "expected"), [(FAIR, "PASS"), (LESS_IN_GERMAN | LESS_IN_THE_MASCULINE, "FAIL")]
)
def test_the_suite_judges_eleven_languages(pytester, outcomes, world, expected):
    shutil.copytree(SUITES / "languages", pytester.path / "languages")
    assert outcomes(world, 8, "languages") == {BY_LANGUAGE: expected, BY_WORDING: expected}
