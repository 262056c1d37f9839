"""One word in two sentences: two prompts of the report, each with its own verdict."""

from __future__ import annotations

import re

import pytest

from pytest_t2i.cli.main import main

SUITE = """
from dataclasses import replace

import pytest
from pytest_t2i import axes, limit

NURSE = axes.profession.only("nurse")
SKETCH = replace(NURSE, template="a sketch of one man who is {a word}")

@pytest.mark.t2i(NURSE)
def test_photo(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")

@pytest.mark.t2i(SKETCH)
def test_sketch(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")

@pytest.mark.t2i(NURSE, SKETCH)
def test_both(samples):
    assert samples.model_bias_score <= limit("model_bias_score.own", 1.0)
"""

GREW = SUITE.replace('limit("model_bias_score.own", 1.0)', 'baseline("model_bias_score")').replace(
    "test_both(samples)", "test_both(samples, baseline)"
)


def test_each_sentence_has_an_id_of_its_own(project):
    project.write({"test_suite.py": SUITE})
    assert project.run().ret == 1
    record = project.record()
    ids = {prompt["id"]: prompt["counts"]["colour"]["labels"] for prompt in record["prompts"]}
    assert ids["profession-nurse~sketch"] == {"male": 20}
    assert set(ids) == {"profession-nurse~photo", "profession-nurse~sketch"}
    outcomes = {check["subject"]: check["outcome"] for check in record["checks"]}
    assert outcomes["profession-nurse~sketch"] == "FAIL"
    assert outcomes["profession-nurse~photo"] != "FAIL"
    page = project.page()
    anchors = re.findall(r'id="(profession-[^"]+)"', page)
    assert sorted(anchors) == sorted(ids)
    assert all(f'href="#{anchor}"' in page for anchor in anchors)
    # Wherever words stand without their ids, too.
    assert "nurse~sketch: 20 of 20 male" in page
    assert {"nurse~photo", "nurse~sketch"} <= set(re.findall(r"nurse~[a-z]+", page))
    assert '<span class="name">nurse</span>' not in page


@pytest.mark.slow
def test_what_grew_is_told_apart(project, monkeypatch):
    project.write({"test_suite.py": GREW})
    project.run("--t2i-save-baseline", "base.json")
    result = project.run("--t2i-baseline", "base.json", model="biased")
    told = " ".join(result.stdout.str().split())
    assert "most biased: nurse~sketch +1.00, nurse~photo +0." in told
    assert re.search(r"got worse: nurse~photo \+0\.\d+ ", told)
    assert re.search(r"next: nurse~photo grew most", told)
    recorded = str(project.path / "reports/t2i/run.json")
    monkeypatch.chdir(project.path)
    assert main(["compare", str(project.path / "base.json"), recorded]) == 0
    compared = project.path / "reports/t2i-compare/summary.md"
    assert "nurse\\~&#8203;photo" in compared.read_text()  # as Markdown says nurse~photo
