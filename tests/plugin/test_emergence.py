"""Emergence and predisposition: measured step by step, recorded, shown, made once."""

from __future__ import annotations

import pytest

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
    assert spi.half_step.low > 1 and spi.half_step.high < 2
    assert min(spi.band.low) > 0

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


@pytest.fixture
def measured(finished):
    return finished("emergence", *IMAGES, files={"test_suite.py": SUITE})


def outcome_of(folder, name):
    return next(c for c in folder.record()["checks"] if name in c["test"])


def test_what_is_planted_is_found(measured):
    measured.result.stdout.fnmatch_lines(["*observe='velocity'*"])
    check = outcome_of(measured, "test_stereotype")
    assert (check["outcome"], check["metric"]) == ("FAIL", "spi")
    assert check["estimate"] == pytest.approx(0.4, abs=0.02)
    alone = outcome_of(measured, "test_one_image")
    assert (alone["outcome"], alone["message"]) == ("INCONCLUSIVE", "one image shows no spread")
    measured.result.assert_outcomes(failed=2, passed=3)


def test_images_are_made_once(measured):
    assert len(measured.made()) == len(set(measured.made())) == 24


def test_the_record_and_the_page_show_it(measured):
    record = measured.record()
    guided = {one["attribute"]: one for one in record["emergence"] if one["guidance"]}
    assert guided["blue"]["half_step"]["estimate"] == pytest.approx(1.33, abs=0.05)
    assert guided["blue"]["mean"] == pytest.approx([-x for x in guided["turned"]["mean"]])
    assert guided["blue"]["centred"] == pytest.approx([1.5 * x for x in guided["blue"]["mean"]])
    foreseen = {one["looked_for"]: one for one in record["foreseen"]}
    assert set(foreseen) == {"blue", "male"}
    assert len(foreseen["blue"]["shares"]) == 4
    assert foreseen["blue"]["strips"]
    page = measured.page()
    assert "Emergence of attributes" in page
    assert "What each step foresees" in page
    assert "data:image/jpeg;base64," in page
    measured.result.stdout.fnmatch_lines(
        ["emergence (SPI, centred): first step adds most of nurse: blue, +0.6*"]
    )
    assert "; centred +0.6" in page
    assert "| emergence |" in (measured.path / "reports/t2i/summary.md").read_text()


def test_nothing_is_made_again(project, measured):
    project.take(measured)
    before = len(project.made())
    project.run(*IMAGES, "-k", "foreseen or exchanged").assert_outcomes(passed=2)
    assert len(project.made()) == before
