"""A service that rewrites prompts: kept with the picture, shown, counted and judged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("openai")

from image_server import serving

from pytest_t2i.cli.main import main

SUITE = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE)
def test_rewriting(rewriting):
    assert rewriting.gender_added_share <= limit("gender_added_share", 0.9)

@pytest.mark.t2i(PEOPLE)
def test_prompt(samples):
    assert samples.model_bias_score <= limit("model_bias_score.own", 1.0)
"""
SHIPPED = Path(__file__).parents[2] / "suites" / "rewriting"
REWRITER = "rewriter:0.5/1/smiling <b>woman</b>"


def said(result):
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def told(record):
    """Prompt and seed -> what was drawn."""
    return {
        (prompt["text"], image["seed"]): image["revised_prompt"]
        for prompt in record["prompts"]
        for image in prompt["images"]
    }


@pytest.fixture
def rewriting(project, monkeypatch):
    """A project that asks what a service drew."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    project.write({"test_suite.py": SUITE})
    return project


def test_what_an_endpoint_drew_is_kept_shown_and_counted(rewriting):
    with serving(None, "policy", rewrite="{}, smiling woman".format) as server:
        model = f"openai:fake@{server.url}"
        first = rewriting.run("--t2i-images", "3", "--t2i-probe=never", model=model)
        drawn = told(rewriting.record())
        again = rewriting.run("--t2i-images", "3", "--t2i-probe=never", model=model)
        assert len(server.asked) == 12
    assert "12 from the store" in said(again)
    assert told(rewriting.record()) == drawn
    texts = [text for text in drawn.values() if text is not None]
    assert len(texts) == 11  # one was refused
    assert all(text.endswith(", smiling woman") for text in texts)
    (share,) = rewriting.rows("rewriting", "gender_added_share")
    assert share["counts"] == {"images": 12, "told": 11}
    assert share["value"]["estimate"] == 1.0
    words = rewriting.rows("rewriting", "added_word")
    assert [row["dims"]["word"] for row in words] == ["woman", "smiling"]
    first_prompt, *_ = rewriting.rows("rewriting", "rewritten_share", "prompt")
    assert first_prompt["counts"]["told"] == 2 or first_prompt["counts"]["gender"] == 3
    page = rewriting.page()
    assert page.count("<summary>rewritten</summary>") == 11
    assert "Rewritten prompts" in page
    assert "gender added to 100%" in said(first)


@pytest.mark.parametrize("how", [("-n", "2"), ("--t2i-executor", "processes:2")])
@pytest.mark.slow
def test_what_was_drawn_survives_processes(rewriting, how):
    given = ("--t2i-images", "4", *how)
    rewriting.write({"conftest.py": NAMED if how[0].startswith("--t2i") else CONFTEST})
    model = f"service:{REWRITER.partition(':')[2]}" if how[0].startswith("--t2i") else REWRITER
    rewriting.run_apart(*given, model=model)
    drawn = told(rewriting.record())
    assert len(drawn) == 16
    assert {text.partition(", ")[2] for text in drawn.values()} <= {"", "smiling <b>woman</b>"}
    assert rewriting.rows("rewriting", "rewritten_share")[0]["counts"]["told"] == 16


CONFTEST = """
import fakes

def pytest_t2i_models():
    return {"rewriter": fakes.rewriter}

def pytest_t2i_detectors():
    return {"colour": fakes.detector}
"""
NAMED = CONFTEST.replace('"rewriter"', '"service"')


def test_hostile_words_are_shown_as_they_are(rewriting):
    rewriting.run("--t2i-images", "2", model=REWRITER)
    page = rewriting.page()
    assert "<b>woman</b>" not in page
    assert "&lt;b&gt;woman&lt;/b&gt;" in page


def test_a_service_that_does_not_tell_is_inconclusive(rewriting):
    result = rewriting.run("--t2i-images", "2", model="rewriter:1/1/")
    assert result.ret == 6
    assert "does not say what it drew (revised_prompt)" in said(result)
    assert "1 passed, 1 inconclusive" in said(result)
    assert rewriting.rows("rewriting", "rewritten_share")[0]["counts"]["told"] == 0


def test_a_model_that_draws_prompts_as_they_are_is_skipped(rewriting):
    result = rewriting.run("--t2i-images", "2", "-rs", model="fair")
    assert "fair draws prompts as they are, or does not say what it draws" in said(result)
    assert "rewriting" not in rewriting.record()["audits"]
    assert result.parseoutcomes()["skipped"] == 1
    assert set(told(rewriting.record()).values()) == {None}


def test_a_mitigation_rewrites_by_itself(rewriting):
    conftest = (rewriting.path / "conftest.py").read_text()
    rewriting.write({"conftest.py": conftest + MITIGATION})
    result = rewriting.run("--t2i-images", "2", "--t2i-mitigation", "stated", "-rs", model=REWRITER)
    assert "a mitigation rewrites prompts itself; run without --t2i-mitigation" in said(result)
    assert "rewriting" not in rewriting.record()["audits"]


MITIGATION = """
class Stated:
    name, fingerprint, stage, families, passes = "stated", "1", "prompt", (), 1.0
    needs_counterparts = False

    def prompt(self, text, seed, counterparts):
        return f"{text}, whoever it is"

def pytest_t2i_mitigations():
    return {"stated": Stated}
"""


@pytest.mark.slow
def test_the_shipped_suite_makes_no_image_more_than_parity(project):
    for suite in ("rewriting", "parity"):
        shutil.copytree(SHIPPED.parent / suite, project.path / suite)
    (project.path / "test_suite.py").unlink()
    given = ("--t2i-images", "4", "-q", "parity", "--deselect", "parity/test_regression.py")
    project.run(*given, model="fair")
    made = len(project.made())
    result = project.run(*given, "rewriting", model="fair")
    assert len(project.made()) == made
    assert result.parseoutcomes()["skipped"] >= 4


def test_what_was_drawn_goes_with_the_pictures_into_a_folder_and_back(rewriting):
    with serving(rewrite=lambda prompt: f"{prompt}, smiling woman") as server:
        rewriting.run("--t2i-images", "4", model=f"openai:fake@{server.url}")
    before = told(rewriting.record())
    run, copied = (rewriting.path / name for name in ("reports/t2i/run.json", "copied"))
    assert main(["label", "export", str(run), str(copied)]) == 0
    header, *rows = (copied / "manifest.csv").read_text().splitlines()
    assert header == "file,prompt,seed,revised_prompt"
    assert len(rows) == len(before)
    result = rewriting.run("--t2i-store", "other", model="images:copied")
    assert f"{len(before)} read from the folder" in said(result)
    assert told(rewriting.record()) == before
    assert "smiling woman" in rewriting.page()
