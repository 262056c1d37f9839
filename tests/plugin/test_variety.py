"""Variety along an attribute: measured, judged, recorded, compared; what was not observed."""

from __future__ import annotations

import json

import pytest
from caveats import how_decided, remarks_of

from pytest_t2i.verdicts.baseline_file import sealed

CONFTEST = """
import dataclasses

import fakes
from PIL import Image

class Same(fakes.FakeModel):
    def _one(self, request):
        picture = Image.new("RGB", (16, 16), fakes.BLUE)
        return dataclasses.replace(super()._one(request), image=picture)

def pytest_t2i_models():
    return {"fair": fakes.fair, "biased": fakes.biased, "same": lambda options: Same(1.0, "same")}

def pytest_t2i_detectors():
    return {"colour": fakes.detector}

def pytest_t2i_encoders():
    return {"clip": fakes.text_encoder}
"""
SUITE = """
import pytest
from pytest_t2i import Attribute, Prompt, Stereotype, limit

BLUE = Attribute("blue", "a blue picture", "a red picture")
ALIKE = Attribute("alike", "a blue picture", "blue")
EMPTY = Attribute("empty", "a blue picture", "")
NURSE = Prompt("a photo of a nurse", "profession", "nurse")
PILOT = Prompt("a photo of a pilot", "profession", "pilot")

@pytest.mark.t2i(Stereotype(NURSE, BLUE, 0.5), observe=["features", "attribute_images"])
@pytest.mark.parametrize("direction", ["text", "images", "kernel", "kernel:poly"])
def test_stereotype(stereotype, direction):
    assert stereotype.wals(direction) >= limit("wals", 0.1)

@pytest.mark.t2i(NURSE, PILOT, attributes=BLUE, observe="features")
def test_samples(samples):
    assert samples.wals(BLUE) >= limit("wals", 0.1)
    assert samples.wals(BLUE, center=True) >= limit("wals", 0.1)
    assert [sample.wals(BLUE).interval.n for sample in samples] == [12, 12]

@pytest.mark.t2i(Stereotype(NURSE, BLUE, 0.5), observe="features")
def test_against_baseline(stereotype, baseline):
    assert stereotype.wals("text") >= baseline("wals")
"""
MISTAKES = """
@pytest.mark.t2i(Stereotype(NURSE, BLUE, 0.5))
def test_features_of_a_stereotype_not_observed(stereotype):
    stereotype.wals("text")

@pytest.mark.t2i(NURSE, observe="features", attributes=BLUE)
def test_wrong_way_round(sample):
    assert sample.wals(BLUE) <= limit("wals", 0.1)

@pytest.mark.t2i(NURSE, attributes=BLUE)
def test_not_observed(sample):
    sample.wals(BLUE)

@pytest.mark.t2i(NURSE, observe="features", attributes=BLUE)
def test_not_among_them(sample):
    sample.wals(Attribute("red", "red", "blue"))

@pytest.mark.t2i(NURSE, observe="features", attributes=BLUE)
def test_no_images_of_it(sample):
    sample.wals(BLUE, "images")

@pytest.mark.t2i(NURSE, observe="features", attributes=BLUE)
def test_no_such_direction(sample):
    sample.wals(BLUE, "sideways")

@pytest.mark.t2i(NURSE, observe="features", attributes=BLUE)
def test_no_such_rank(sample):
    sample.wals(BLUE, rank=0)

@pytest.mark.t2i(NURSE, observe="features", attributes=BLUE)
def test_wide_rank(sample):
    assert sample.wals(BLUE, rank=99) >= limit("wals", 0.1)

@pytest.mark.t2i(NURSE, observe="features", attributes=ALIKE)
def test_alike(sample):
    assert sample.wals(ALIKE) >= limit("wals", 0.1)

@pytest.mark.t2i(NURSE, observe="features", attributes=BLUE, images=3)
def test_too_few(sample):
    assert sample.wals(BLUE) >= limit("wals", 0.1)
"""
IMAGES = ("--t2i-images", "12")


@pytest.fixture
def measured(finished):
    files = {"conftest.py": CONFTEST, "test_suite.py": SUITE}
    save = ("--t2i-save-baseline", "fair.json")
    return finished("variety", *IMAGES, *save, files=files)


def test_it_is_measured_and_judged(measured):
    measured.result.assert_outcomes(passed=5, skipped=1)
    record = measured.record()
    assert {check["metric"] for check in record["checks"]} == {"wals"}
    rows = measured.rows("variety", "wals", "prompt")
    directions = {row["dims"]["direction"]: row for row in rows if not row["dims"]["centred"]}
    assert set(directions) == {"text", "images", "kernel"}
    assert {row["subject"] for row in rows} >= {check["subject"] for check in record["checks"][:3]}
    interval = directions["text"]["value"]
    assert 0.2 < interval["low"] < interval["estimate"] < interval["high"] < 0.8
    assert interval["n"] == 12
    # The pictures of both descriptions, once each, beside those of the two prompts.
    assert len(measured.made()) == 4 * 12


def test_reports_show_it(measured):
    page = measured.page()
    assert "Variety along an attribute" in page
    assert "direction from images of the descriptions, by a kernel" in page
    assert "good corner" in page
    measured.result.stdout.fnmatch_lines(["variety (WALS): lowest 0.* (*: blue, direction*"])
    summary = (measured.path / "reports/t2i/summary.md").read_text()
    assert "| nurse (direction from the descriptions; 12 images, by clip) | WALS |" in summary


def test_the_same_pictures_have_not_changed(project, measured):
    project.take(measured)
    result = project.run(*IMAGES, "--t2i-baseline", "fair.json", "-k", "baseline")
    result.assert_outcomes(passed=1)
    assert how_decided(project.record()["checks"][0]) == "identical pictures"


def test_a_drop_is_a_regression(project, measured):
    project.take(measured)
    recorded = json.loads((project.path / "fair.json").read_text())
    recorded["audits"]["variety"]["profession-nurse-blue by text"]["pictures"] = "others"
    known = recorded["audits"]["variety"]["profession-nurse-blue by text"]["wals"]
    for end in ("estimate", "low", "high"):
        known[end] += 0.3
    for prompt in recorded["prompts"].values():
        del prompt["seal"]
    (project.path / "fair.json").write_text(json.dumps(sealed(recorded)))
    result = project.run(*IMAGES, "--t2i-baseline", "fair.json", "-k", "baseline")
    result.assert_outcomes(failed=1)
    check = project.record()["checks"][0]
    assert (check["outcome"], how_decided(check)) == ("FAIL", "margin")
    assert check["before"] - check["after"] == pytest.approx(0.3)

    fewer = project.run("--t2i-images", "8", "--t2i-baseline", "fair.json", "-k", "baseline")
    fewer.stdout.fnmatch_lines(["*WALS compares between equal numbers of images*"])


def test_what_was_not_observed_is_told(project):
    project.write({"conftest.py": CONFTEST, "test_suite.py": SUITE + MISTAKES})
    names = "not_observed or among_them or no_images or direction or few or rank or alike"
    result = project.run(*IMAGES, "-k", names)
    assert result.ret == 1
    told = result.stdout.str()
    assert "write @pytest.mark.t2i(..., observe='features')" in told
    assert "write @pytest.mark.t2i(..., observe='attribute_images')" in told
    assert "the attribute 'red' is not among those of the marker" in told
    assert "expected a direction among text, images, kernel, kernel:cosine, " in told
    assert "got 'sideways'" in told
    assert "rank is a whole number from 1 on, got rank=0" in told
    checks = project.record()["checks"]
    said = {check["test"].partition("::test_")[2]: check["message"] for check in checks}
    assert {check["outcome"] for check in checks} == {"INCONCLUSIVE"}
    assert said["too_few[profession-nurse]"] == "WALS needs 4 images, there are 3"
    assert "Failed: wals(direction='text') needs what was not observed: write" in told
    assert said["wide_rank[profession-nurse]"] == "rank 99 is more than 12 images have (3)"
    alike = "the descriptions of 'alike' are the same to encoder 'clip'"
    assert said["alike[profession-nurse]"] == alike


def test_an_encoder_without_texts_decides_nothing(project):
    project.write({"test_suite.py": SUITE})
    project.run(*IMAGES, "-k", "samples")
    check = project.record()["checks"][0]
    assert check["outcome"] == "INCONCLUSIVE"
    assert check["message"] == "encoder 'clip' has no features of texts"


def test_one_picture_over_and_over_is_no_evidence_of_variety(project):
    project.write({"conftest.py": CONFTEST, "test_suite.py": SUITE})
    project.run(*IMAGES, "--t2i-model", "same", "-k", "samples or test_stereotype")
    checks = project.record()["checks"]
    assert {check["outcome"] for check in checks} == {"INCONCLUSIVE"}
    assert all("repeat an earlier one" in check["message"] for check in checks)


TWO = """
import pytest
from pytest_t2i import Attribute, Prompt

BLUE = Attribute("blue", "a blue picture", "a red picture")
OTHER = Attribute("blue", "a blue picture", "a green picture")
NURSE = Prompt("a photo of a nurse", "profession", "nurse")
PILOT = Prompt("a photo of a pilot", "profession", "pilot")

@pytest.mark.t2i(NURSE, PILOT, attributes=[BLUE, OTHER], observe="features")
@pytest.mark.parametrize("attribute", [BLUE, OTHER], ids=["blue", "other"])
def test_both(samples, attribute, baseline):
    assert samples.wals(attribute) >= baseline("wals")

@pytest.mark.t2i(NURSE, attributes=[BLUE], observe="features")
def test_rank(sample, baseline):
    assert sample.wals(BLUE, rank=2) >= baseline("wals")
"""


@pytest.mark.slow
def test_attributes_of_one_name_are_told_apart_in_a_baseline(project):
    project.write({"conftest.py": CONFTEST, "test_suite.py": TWO})
    project.run(*IMAGES, "--t2i-save-baseline", "fair.json", "-k", "both")
    assert len(json.loads((project.path / "fair.json").read_text())["audits"]["variety"]) == 2 * 4
    names = [
        (row["subject"], *row["dims"].values()) for row in project.rows("variety", "wals", "prompt")
    ]
    assert len(set(names)) == len(names) == 2 * 4
    # At another level the pictures are the same, too.
    again = project.run(*IMAGES, "--t2i-baseline", "fair.json", "--t2i-confidence", "0.9")
    again.assert_outcomes(passed=2, failed=1)
    again.stdout.fnmatch_lines(["*by all singular values, not *rank 2: leave rank out*"])
    both = [check for check in project.record()["checks"] if "both" in check["test"]]
    assert {how_decided(check) for check in both} == {"identical pictures"}
    assert both[0]["before"] != both[1]["before"]

    changed = TWO.replace("a green picture", "a dark picture")
    project.write({"test_suite.py": changed})
    other = project.run(*IMAGES, "--t2i-baseline", "fair.json", "-k", "both")
    other.assert_outcomes(passed=1, failed=1)
    other.stdout.fnmatch_lines(["*profession-nurse-blue by text is along other descriptions*"])


def test_a_rare_kind_is_told(project):
    project.write({"conftest.py": CONFTEST, "test_suite.py": SUITE})
    project.run(*IMAGES, "--t2i-model", "biased", "-k", "samples or stereotype")
    told = [line for check in project.record()["checks"] for line in remarks_of(check)]
    assert any("of 12 images lack it: below 5 the interval covers" in t for t in told)
