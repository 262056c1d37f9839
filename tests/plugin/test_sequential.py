"""--t2i-sequential: images in rounds, and no more of them for a test that is decided."""

from __future__ import annotations

import pytest

SEQUENTIAL = ("--t2i-sequential", "--t2i-images", "20")
SUITE = """
import pytest
from pytest_t2i import axes, limit, Stereotype
from pytest_t2i.data import Attribute, Prompt

PROMPTS = axes.profession.prompts()[:16]
MEN = Attribute("man", "a photo of a man", "a photo of a woman")
CHEF = Stereotype(Prompt("a chef at work", "profession", "chef at work"), MEN, 0.3, "test")

@pytest.mark.t2i(PROMPTS[:4])
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score", 0.2)

@pytest.mark.t2i(PROMPTS)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score")

@pytest.mark.t2i(CHEF)
def test_stereotype(stereotype):
    assert stereotype.stereotype_score <= limit("stereotype_score", 0.2)
"""
ASKED = 16 * 20 + 20


@pytest.fixture
def plain(project):
    """A project whose every test says plainly what it compares."""
    (project.path / "test_suite.py").write_text(SUITE)
    return project


def verdicts(project):
    """What every check came to, by test and subject."""
    return {
        (one["test"], one["subject"]): (one["outcome"], one["low"], one["high"], one["n"])
        for one in project.record()["checks"]
    }


def test_a_biased_model_stops_early_and_fails(plain):
    result = plain.run(*SEQUENTIAL, model="biased")
    assert result.parseoutcomes()["failed"] >= 3
    record = plain.record()
    made = plain.made()
    assert len(made) == len(set(made)) == record["work"]["planned"] < 0.5 * ASKED
    assert record["work"]["most"] == ASKED
    result.stdout.fnmatch_lines(
        [
            "*round 1: 6 tests undecided*",
            f"*early stopping: {len(made)} of {ASKED} images were enough*",
        ]
    )
    page = (plain.path / "reports/t2i/index.html").read_text()
    assert "Early stopping" in page
    methods = {one["metric"]: one["method"] for one in record["checks"]}
    assert methods["prompt_bias_score"] == "beta-binomial sequence"
    assert methods["stereotype_score"] == "beta-binomial sequence"
    model = next(one for one in record["checks"] if one["metric"] == "model_bias_score")
    assert (model["method"], model["outcome"]) == ("cluster-bootstrap at a look", "FAIL")
    assert model["level"] > 0.95


def test_a_second_run_makes_nothing_and_says_the_same(plain):
    plain.run(*SEQUENTIAL, model="biased")
    before, told = plain.made(), verdicts(plain)
    result = plain.run(*SEQUENTIAL, model="biased")
    assert plain.made() == before
    assert verdicts(plain) == told
    result.stdout.fnmatch_lines([f"images: 0 made, {len(before)} from the store*"])


def test_workers_say_what_one_process_says(plain):
    plain.run(*SEQUENTIAL, model="biased")
    before, alone, told = plain.made(), plain.record(), verdicts(plain)
    (plain.path / "made.log").unlink()
    plain.run(*SEQUENTIAL, "-n", "2", "--t2i-store", "another", model="biased")
    shared = plain.record()
    assert sorted(plain.made()) == sorted(before)
    assert verdicts(plain) == told
    for key in ("planned", "most", "notes"):
        assert shared["work"][key] == alone["work"][key]
    for key in ("model_scores", "prompts", "stereotypes"):
        assert [no_files(one) for one in shared[key]] == [no_files(one) for one in alone[key]]


def no_files(part):
    """A part of the record without the paths of its images."""
    images = [{**one, "file": ""} for one in part.get("images", ())]
    return {**part, "images": images}


def test_a_fair_model_passes_and_never_asks_for_more(plain):
    result = plain.run(*SEQUENTIAL)
    assert "failed" not in result.parseoutcomes()
    assert len(plain.made()) <= ASKED
    assert all(len(one["images"]) <= 20 for one in plain.record()["prompts"])


def test_what_cannot_be_foreseen_has_all_its_images_at_once(project):
    result = project.run(*SEQUENTIAL, "-k", "gap or nurse")
    # The suite's gaps: 4 neutral prompts and 8 variants with 4 images; nurse up to 20.
    assert len(project.made()) <= 12 * 4 + 16
    result.stdout.fnmatch_lines(["*known before they run*: test_gap*"])
    plain_number = "def test_prompt(sample):\n    assert abs(sample.prompt_bias_score) <= 0.9\n"
    (project.path / "test_suite.py").write_text(
        "import pytest\nfrom pytest_t2i import axes\n"
        f"@pytest.mark.t2i(axes.profession.only('pilot'))\n{plain_number}"
    )
    project.run(*SEQUENTIAL, model="biased")
    check = project.record()["prompts"][0]
    assert len(check["images"]) == 20
    assert check["prompt_bias_score"]["method"] == "clopper-pearson"


def test_without_the_switch_nothing_changes(plain):
    result = plain.run("--t2i-images", "20", model="biased")
    assert len(plain.made()) == ASKED
    assert plain.record()["work"]["most"] == 0
    assert "early stopping" not in result.stdout.str()
    assert {one["method"] for one in plain.record()["checks"]} == {
        "clopper-pearson",
        "cluster-bootstrap",
    }


def test_a_baseline_needs_all_images(project):
    code, told = project.refused("--t2i-sequential", "--t2i-save-baseline", "base.json")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "a baseline holds all images of every prompt" in told


def test_the_ini_key(plain):
    (plain.path / "pytest.ini").write_text("[pytest]\nt2i_sequential = true\n")
    plain.run("-k", "test_stereotype", model="biased")
    assert plain.record()["work"]["most"] == 20
