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
