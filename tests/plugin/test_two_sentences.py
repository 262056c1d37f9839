"""One word in two sentences: two prompts of the report, each with its own verdict."""

from __future__ import annotations

import re

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
    assert samples.model_bias_score <= limit("model_bias_score", 1.0)
"""


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
