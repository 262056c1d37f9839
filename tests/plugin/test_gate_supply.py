"""images:DIR whose manifest does not have the prompts of the tests."""

from __future__ import annotations

import csv

import pytest
from PIL import Image

SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score")

@pytest.mark.t2i(axes.profession.only("nurse"))
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")

@pytest.mark.t2i(axes.profession.only("nurse"))
@pytest.mark.parametrize("space", ["image"])
def test_gap(triplets, space):
    assert triplets.similarity_gap(space) <= limit(f"similarity_gap.{space}")
"""
NURSE = "a photo of one real person who is a nurse"


def write(project, *prompts):
    made = project.path / "mine"
    made.mkdir()
    with (made / "manifest.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "prompt", "seed"])
        for number, prompt in enumerate(prompts):
            Image.new("RGB", (16, 16), (40, 60, 200)).save(made / f"{number}.png")
            writer.writerow([f"{number}.png", prompt, 0])
    (project.path / "test_suite.py").write_text(SUITE)


def refused(project, *arguments, apart=False):
    run = project.run_apart if apart else project.run
    result = run("--t2i-model", "images:mine", *arguments, model="x")
    assert result.ret == 4
    assert not (project.path / "reports").exists()
    # An xdist worker's error is told by the controller, with the results.
    return " ".join((result.stdout if apart else result.stderr).str().split())


@pytest.mark.parametrize(
    "way",
    [
        (),
        ("--t2i-sequential",),
        pytest.param(("-n", "2"), marks=pytest.mark.slow),
    ],
)
def test_prompts_that_are_all_misspelt_are_an_error_that_names_the_nearest(project, way):
    write(project, NURSE.replace("person", "persn"), "a foto of one person", "a cat")
    told = refused(project, "-k", "test_model or test_prompt", *way, apart="-n" in way)
    assert f"got none of 2 of 2 prompts, such as '{NURSE}'" in told
    assert "nearest in its manifest: 'a photo of one real persn who is a nurse'" in told


def test_one_test_without_pictures_is_an_error_too(project):
    write(project, NURSE, "a photo of one real person who is a pilott")
    told = refused(project)
    pilot = "a photo of one real person who is a pilot"
    assert "got none of 3 of 4 prompts" in told
    assert f"'{pilot}' (nearest in its manifest: '{pilot}t')" in told


def test_a_manifest_about_something_else_is_shown(project):
    write(project, "cat", "dog", "cow", "hen")
    told = refused(project, "-k", "test_prompt")
    assert "Its manifest has 4 prompts: 'cat', 'dog', 'cow' and 1 more." in told
    assert "nearest" not in told


def test_a_prompt_that_differs_in_case_and_blanks_is_the_nearest(project):
    write(project, NURSE.replace("nurse", "purse"), f"{NURSE.title()} ")
    told = refused(project, "-k", "test_prompt")
    assert f"nearest in its manifest: '{NURSE.title()}'" in told
