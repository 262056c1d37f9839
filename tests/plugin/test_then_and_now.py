"""Pictures of then are promised where the report has them, and nowhere else."""

from __future__ import annotations

from html import unescape

import pytest

SUITE = """
import pytest
from pytest_t2i import axes

@pytest.mark.t2i(axes.profession.only("nurse", "pilot", "chef"))
def test_prompt_grown(sample, baseline):
    assert sample.prompt_bias_score <= baseline("prompt_bias_score")
"""


OF_TWO_WORDINGS = SUITE.replace(
    'axes.profession.only("nurse", "pilot", "chef")',
    """axes.profession.only("nurse", "pilot", "chef").worded(
        "a photo of a person who is {a word}", "a picture of a person who is {a word}"
    ).prompts()""",
)


@pytest.fixture
def shipped(project):
    """A project that recorded its fair model, prompt by prompt."""
    project.write({"test_suite.py": SUITE})
    project.run("--t2i-images", "40", "--t2i-save-baseline", "shipped.json", model="fair")
    return project


def failed(project, *more):
    project.run("--t2i-images", "40", "--t2i-baseline", "shipped.json", *more, model="biased")
    record = project.record()
    assert record["outcome"] == "FAIL"
    return record["next_steps"][0], unescape(project.page())


def test_pictures_then_and_now_are_promised_where_the_report_shows_them(shipped):
    step, page = failed(shipped)
    assert step.startswith("look at the pictures of profession-")
    assert step.endswith("then and now, in the report")
    assert "By tests of single prompts these became more biased: profession-" in page
    assert ">before and now</span>" in page


def test_a_baseline_alone_keeps_no_pictures_and_none_are_promised(shipped):
    step, page = failed(shipped, "--t2i-store=elsewhere")
    assert step.endswith("in the report (the store has none of the baseline's)")
    assert ">before and now</span>" not in page


def test_pictures_of_a_prompt_of_two_wordings_are_found(project):
    project.write({"test_suite.py": OF_TWO_WORDINGS})
    project.run("--t2i-images", "40", "--t2i-save-baseline", "shipped.json", model="fair")
    failed(project)
    pictures = project.record()["baseline"]["pictures"]
    assert {len(of_prompt) for of_prompt in pictures.values()} == {6}
