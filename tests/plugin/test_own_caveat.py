"""A caveat that a project registers: its conftest.py, or an installed companion."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from distributions import forget_what_is_installed, write_metadata

PAGE = Path(__file__).parents[2] / "docs/api/index.md"
SUITE = """
import pytest
from pytest_t2i import axes, limit

AXIS = axes.profession.only("nurse", "pilot")

@pytest.mark.t2i(AXIS)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score.wide", 0.9)

@pytest.mark.t2i(AXIS, images=2)
def test_few(samples):
    assert samples.model_bias_score <= limit("model_bias_score.wide", 0.9)
"""


def of_the_page():
    """The caveat that the page of extension points shows."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(code.splitlines()) <= 60
    return code


def told(project, *how):
    result = project.run("--t2i-images", "12", *how, model="fair")
    checks = {check["test"].rpartition("_")[2]: check for check in project.record()["checks"]}
    return result, checks["model"], checks["few"]


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_conftest_voids_and_remarks(project, workers):
    conftest = (project.path / "conftest.py").read_text()
    project.write({"test_suite.py": SUITE, "conftest.py": conftest + of_the_page()})
    result, model, few = told(project, *workers)
    assert (model["outcome"], few["outcome"]) == ("PASS", "INCONCLUSIVE")
    facts = {"images": 24, "hangs_on": "the number of images"}
    own = {"name": "few images", "message": "only 24 images", "facts": facts}
    assert own in model["caveats"]
    assert few["estimate"] is None
    assert few["message"] == "we judge no 4 images"
    assert result.ret == 6
    assert "PASS, only 24 images" in project.page()


HALF = """

class LastHalf:
    fills_in = False

    def reading(self, counted, side):
        return counted.with_each(lambda sample: sample.only(sample.seeds[len(sample.seeds) // 2:]))


def pytest_t2i_caveats():
    return {"last-half": LastHalf}
"""
STRICT = """

class Strict:
    def level(self, question, levels):
        return levels._replace(own=1.0 - 1e-9)


def pytest_t2i_caveats():
    return {"strict": Strict}
"""


@pytest.mark.parametrize("caveat", [HALF, STRICT], ids=["reading", "level"])
def test_a_conftest_reads_and_spends(project, caveat):
    conftest = (project.path / "conftest.py").read_text()
    project.write({"test_suite.py": SUITE.replace("0.9", "0.7")})
    _, plain, _ = told(project)
    project.write({"conftest.py": conftest + caveat})
    _, model, _ = told(project)
    assert (plain["outcome"], model["outcome"]) == ("PASS", "INCONCLUSIVE")
    # A reading weakens the evidence, and leaves the estimate.
    assert model["estimate"] == plain["estimate"]


def test_a_companion_registers_by_an_entry_point(project, monkeypatch):
    monkeypatch.setattr("sys.path", [str(project.path), *sys.path])
    monkeypatch.chdir(project.path)
    project.write({"test_suite.py": SUITE, "our_caveat.py": of_the_page()})
    write_metadata(
        project.path, "ours", "1.0", {"pytest_t2i.caveats": {"few": "our_caveat:FewImages"}}
    )
    forget_what_is_installed()
    try:
        _, model, few = told(project)
    finally:
        monkeypatch.undo()
        forget_what_is_installed()
    assert "few images" in [caveat["name"] for caveat in model["caveats"]]
    assert few["estimate"] is None


def test_an_object_without_a_seam_is_refused_before_an_image_is_made(project):
    conftest = (project.path / "conftest.py").read_text()
    hook = "\ndef pytest_t2i_caveats():\n    return {'empty': object}\n"
    project.write({"conftest.py": conftest + hook})
    status, text = project.refused()
    assert status == 4
    assert "caveat 'empty': expected a factory of an object with void(question)" in text
    assert not project.made()
