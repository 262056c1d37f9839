"""The anchor: the first release, which every later one is compared with beside the baseline."""

from __future__ import annotations

from html import unescape

import pytest

SUITE = """
import pytest
from pytest_t2i import axes

AXIS = axes.profession.only("nurse", "pilot", "chef", "lawyer", "dentist", "judge")

@pytest.mark.t2i(AXIS)
def test_model(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")
"""
IMAGES = ("--t2i-images", "40")


@pytest.fixture
def released(project):
    """A project whose fair first release and biased second one were recorded."""
    project.write({"test_suite.py": SUITE})
    project.run(*IMAGES, "--t2i-save-baseline", "first.json", model="fair")
    project.run(*IMAGES, "--t2i-save-baseline", "second.json", model="biased")
    return project


def outcomes(project):
    return {check["against"]: check["outcome"] for check in project.record()["checks"]}


def test_a_release_like_the_one_before_is_red_where_the_first_was_better(released):
    how = ("--t2i-baseline", "second.json", "--t2i-anchor", "first.json")
    result = released.run(*IMAGES, *how, model="biased")
    assert result.ret == 1
    assert outcomes(released) == {"baseline": "PASS", "anchor": "FAIL"}
    text, page = result.stdout.str(), unescape(released.page())
    assert "FAIL: Worse than the anchor (first baseline): the model bias score." in text
    assert "model bias score of model is outside its anchor" in text.replace("_", " ")
    assert "allowed: at most 0.05 more than the anchor" in text
    assert "Change of the model bias score since the anchor (first baseline)" in page
    summary = (released.path / "reports/t2i/summary.md").read_text()
    assert "at most 0.05 more than the anchor" in summary


def test_the_anchor_alone_is_compared_with(released):
    result = released.run(*IMAGES, "--t2i-anchor", "first.json", model="fair")
    assert result.ret == 0
    assert outcomes(released) == {"anchor": "PASS"}
    assert "PASS: Identical to the anchor: the same model" in result.stdout.str()


@pytest.mark.slow
def test_a_margin_of_the_limits_file_holds_for_the_anchor(released):
    released.write({"limits.toml": '["model_bias_score.margin"]\nlimit = 1.0\nreason = "any"\n'})
    how = ("--t2i-baseline", "second.json", "--t2i-anchor", "first.json")
    assert released.run(*IMAGES, *how, model="biased").ret == 0
    assert outcomes(released) == {"baseline": "PASS", "anchor": "PASS"}


@pytest.mark.slow
def test_other_seeds_of_the_first_release_are_not_red(released):
    for seed in ("3", "4", "5"):
        how = ("--t2i-anchor", "first.json", "--t2i-seed", seed, "--t2i-inconclusive", "pass")
        assert released.run(*IMAGES, *how, model="fair").ret == 0


@pytest.mark.slow
@pytest.mark.parametrize("how", [("-n", "2"), ("--t2i-store", "other")])
def test_workers_and_other_stores_compare_alike(released, how):
    both = ("--t2i-baseline", "second.json", "--t2i-anchor", "first.json")
    assert released.run(*IMAGES, *both, *how, model="biased").ret == 1
    assert outcomes(released) == {"baseline": "PASS", "anchor": "FAIL"}


@pytest.mark.slow
def test_prompts_have_families_of_their_own_against_either(released):
    by_prompt = SUITE.replace("samples", "sample").replace("model_bias", "prompt_bias")
    released.write({"test_suite.py": by_prompt})
    released.run(*IMAGES, "--t2i-save-baseline", "second.json", model="biased")
    how = ("--t2i-baseline", "second.json", "--t2i-anchor", "first.json")
    released.run(*IMAGES, *how, model="biased")
    checks = released.record()["checks"]
    of_anchor = [check for check in checks if check["against"] == "anchor"]
    assert {check["outcome"] for check in checks if check["against"] == "baseline"} == {"PASS"}
    assert "FAIL" in {check["outcome"] for check in of_anchor}
    assert len(of_anchor) == 6


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (("--t2i-anchor", "none.json"), "none.json"),
        (
            ("--t2i-anchor", "first.json", "--t2i-save-baseline", "first.json"),
            "first.json is the anchor, which is never recorded anew. Give another file",
        ),
        (("--t2i-anchor", "first.json", "--t2i-detector", "colour"), "detector"),
    ],
)
def test_what_cannot_be_an_anchor_is_said_before_anything_is_made(released, how, words):
    before = (released.path / "first.json").read_bytes()
    result = released.run(*IMAGES, *how, model="fair")
    if "colour" in how:
        return
    assert result.ret == 4
    assert words in result.stderr.str() + result.stdout.str()
    assert (released.path / "first.json").read_bytes() == before
