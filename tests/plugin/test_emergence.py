"""Emergence and predisposition: measured step by step, recorded, shown, made once."""

from __future__ import annotations

import pytest
from caveats import remarks_of

SUITE = """
import pytest
from pytest_t2i import Attribute, Prompt, Stereotype, limit

BLUE = Attribute("blue", "b", "a")
TURNED = Attribute("turned", "a", "b")
NURSE = Prompt("a photo of a nurse", "profession", "nurse")

@pytest.mark.t2i(Stereotype(NURSE, BLUE, 0.5), observe=["velocity", "foreseen"])
def test_stereotype(stereotype):
    spi = stereotype.spi()
    assert spi.mean() <= limit("spi", 0.2)
    assert min(spi.band.low) > 0
    foreseen = stereotype.foreseen()
    assert [share.estimate for share in foreseen.shares[:2]] == [1.0, 1.0]
    assert foreseen.settles == 3

@pytest.mark.t2i(Stereotype(NURSE, BLUE, 0.5), observe="velocity")
def test_centred(stereotype):
    assert stereotype.spi(center=True).mean() <= limit("centred_spi", 2.0)

@pytest.mark.t2i(NURSE, attributes=[BLUE, TURNED], observe="velocity")
def test_descriptions_exchanged(sample):
    there, back = (sample.spi(one).curves for one in (BLUE, TURNED))
    assert (there == -back).all()
    assert (sample.spi(BLUE, guidance=False).curves == there / 2).all()
    assert (sample.spi(BLUE, center=True).curves == 1.5 * there).all()
    assert sample.spi(BLUE, center=True).id == sample.spi(BLUE).id + " centred"

@pytest.mark.t2i(NURSE, attributes=[BLUE], observe="foreseen")
def test_foreseen(sample):
    blue = sample.foreseen(BLUE)
    assert [share.estimate for share in blue.shares[:2]] == [1.0, 1.0]
    assert blue.shares[2] == blue.shares[3]
    assert blue.settles == 3
    assert len(blue.strip(0)) == 3

@pytest.mark.t2i(NURSE, attributes=[BLUE])
def test_not_observed(sample):
    sample.spi(BLUE)

@pytest.mark.t2i(NURSE, attributes=[BLUE], observe="velocity", images=1)
def test_one_image(sample):
    assert sample.spi(BLUE).mean() <= limit("spi", 0.2)
"""
IMAGES = ("--t2i-images", "24")
ALIKE = """
import dataclasses

import numpy as np
import pytest
from pytest_t2i import Attribute, Prompt, Stereotype, limit

import fakes
from pytest_t2i import Trace

NURSE = Prompt("a photo of a nurse", "profession", "nurse")
BLUE = Attribute("blue", "b", "a")

class Deaf(fakes.FakeModel):
    def _spi(self, request, attribute):
        known = super()._spi(request, attribute)
        return np.vstack([known[:1], np.full((3, 4), np.nan)])

def deaf(options):
    return Deaf(0.5, "deaf")

@pytest.mark.t2i(NURSE, attributes=[BLUE], observe="velocity")
@pytest.mark.parametrize("center", [False, True])
def test_alike(sample, center):
    metric = "centred_spi" if center else "spi"
    assert sample.spi(BLUE, center=center).mean() <= limit(metric, 0.2)

@pytest.mark.t2i(NURSE, attributes=[BLUE])
def test_foreseen_not_observed(sample):
    sample.foreseen(BLUE)

@pytest.mark.t2i(Stereotype(NURSE, BLUE, 0.5), observe="velocity")
def test_foreseen_of_a_stereotype_not_observed(stereotype):
    stereotype.foreseen()

@pytest.mark.t2i(NURSE, attributes=[BLUE], observe=["velocity", "foreseen", "features"])
@pytest.mark.parametrize("instrument", ["spi", "foreseen", "wals"])
def test_a_name_instead(sample, instrument):
    getattr(sample, instrument)("blue")

class Mute(fakes.FakeModel):
    def generate(self, requests):
        return [dataclasses.replace(one, trace=Trace()) for one in super().generate(requests)]

def mute(options):
    return Mute(0.5, "mute")

@pytest.mark.t2i(NURSE)
def test_label_not_observed(sample):
    sample.foreseen_label("male")

@pytest.mark.t2i(NURSE, attributes=[BLUE], observe="foreseen")
def test_no_such_label(sample):
    sample.foreseen_label("mann")
"""


@pytest.fixture
def measured(finished):
    return finished("emergence", *IMAGES, files={"test_suite.py": SUITE})


def outcome_of(folder, name):
    return next(c for c in folder.record()["checks"] if name in c["test"])


def test_what_is_planted_is_found(measured):
    measured.result.stdout.fnmatch_lines(["*observe='velocity'*"])
    check = outcome_of(measured, "test_stereotype")
    assert (check["outcome"], check["metric"]) == ("INCONCLUSIVE", "spi")
    assert any("judged from 80 images on" in told for told in remarks_of(check))
    assert check["estimate"] == pytest.approx(0.4, abs=0.02)
    alone = outcome_of(measured, "test_one_image")
    assert (alone["outcome"], alone["message"]) == ("INCONCLUSIVE", "one image shows no spread")
    measured.result.assert_outcomes(failed=1, passed=2)


def test_images_are_made_once(measured):
    assert len(measured.made()) == len(set(measured.made())) == 24


def test_the_record_and_the_page_show_it(measured):
    whole = {row["subject"]: row for row in measured.rows("emergence", "spi", "prompt")}
    assert whole["profession-nurse-blue"]["value"]["estimate"] > 0

    def means(metric, subject):
        rows = measured.rows("emergence", metric, "step")
        return [row["value"]["estimate"] for row in rows if row["subject"] == subject]

    blue = means("spi", "profession-nurse-blue")
    assert blue == pytest.approx([-x for x in means("spi", "profession-nurse-turned")])
    centred = means("centred_spi", "profession-nurse-blue centred")
    assert centred == pytest.approx([1.5 * x for x in blue])
    judged = {check["metric"]: check["subject"] for check in measured.record()["checks"]}
    assert means("spi", judged["spi"]) == blue
    assert means("centred_spi", judged["centred_spi"]) == centred
    shares = measured.rows("emergence", "foreseen_share", "step")
    assert {row["facts"]["name"] for row in shares} == {"blue", "male"}
    of_blue = [row for row in shares if row["facts"]["name"] == "blue"]
    assert [row["facts"]["is_finished"] for row in of_blue] == [False, False, False, True]
    names = [
        (row["metric"], row["subject"], *row["dims"].values())
        for row in measured.record()["audits"]["emergence"]["rows"]
    ]
    assert len(set(names)) == len(names)
    page = measured.page()
    assert "Emergence of attributes" in page
    assert "Denoising previews" in page
    assert "data:image/jpeg;base64," in page
    measured.result.stdout.fnmatch_lines(
        ["emergence (SPI, centred): first steps add most of nurse: blue, +0.6*"]
    )
    assert "; centred +0.6" in page
    assert "| Emergence |" in (measured.path / "reports/t2i/summary.md").read_text()


def test_nothing_is_made_again(project, measured):
    project.take(measured)
    before = len(project.made())
    project.run(*IMAGES, "-k", "foreseen or exchanged").assert_outcomes(passed=2)
    assert len(project.made()) == before


def test_descriptions_that_the_model_reads_alike_decide_nothing(project):
    project.write({"test_suite.py": ALIKE})
    project.run(*IMAGES, "--t2i-model", "test_suite:deaf", "-k", "alike")
    checks = project.record()["checks"]
    assert {check["outcome"] for check in checks} == {"INCONCLUSIVE"}
    assert {check["message"] for check in checks} == {
        "to this model both descriptions are the same"
    }


def test_a_name_instead_of_an_attribute_is_told(project):
    project.write({"test_suite.py": ALIKE})
    result = project.run(*IMAGES, "-k", "a_name_instead")
    result.assert_outcomes(failed=3)
    assert result.stdout.str().count("Failed: expected an Attribute, such as Attribute('hat'") >= 3


def test_a_model_without_velocities_is_told(project):
    """Not that there are too few images, of which more would not help."""
    project.write({"test_suite.py": ALIKE})
    result = project.run(*IMAGES, "--t2i-model", "test_suite:mute", "-k", "test_alike")
    words = "There is nothing to decide on: this model does not show its velocities."
    assert words in " ".join(result.stdout.str().split())


def test_what_is_not_foreseen_is_told(project):
    project.write({"test_suite.py": ALIKE})
    result = project.run(*IMAGES, "-k", "observed or label")
    result.assert_outcomes(failed=4)
    told = result.stdout.str()
    asked = "needs what was not observed: write @pytest.mark.t2i(..., observe='foreseen')"
    assert f"foreseen('blue') {asked}" in told
    assert f"foreseen() {asked}" in told
    assert f"foreseen {asked}" in told
    assert "unknown label of colour 'mann'. Known: female, male." in told
