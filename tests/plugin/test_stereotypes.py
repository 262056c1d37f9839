"""Stereotypes with a margin and a direction (OASIS Definition 1)."""

from __future__ import annotations

STEREOTYPES = """
[[stereotype]]
concept = "Iranian"
attribute = "blue"
positive = "a blue picture"
negative = "a red picture"
expected = 0.5
margin = 0.2
source = "made up"

[[stereotype]]
concept = "Indian"
attribute = "blue"
positive = "a blue picture"
negative = "a red picture"
expected = 1
margin = 0.3
direction = "under"
source = "made up"

[[stereotype]]
concept = "Mexican"
attribute = "blue"
positive = "a blue picture"
negative = "a red picture"
expected = 0.2
direction = "under"
"""
SUITE = """
import pytest
from pytest_t2i import limit, read_stereotypes

@pytest.mark.t2i(read_stereotypes("mine.toml"))
def test_stereotype(stereotype):
    assert stereotype.stereotype_score < limit("stereotype_score", stereotype.margin)
"""


def test_each_is_held_to_its_own_margin_in_its_direction(project):
    (project.path / "mine.toml").write_text(STEREOTYPES)
    (project.path / "test_suite.py").write_text(SUITE)
    # 95 % of the pictures are blue: far more than 1/2, hardly fewer than all, more than 1/5.
    result = project.run("--t2i-images", "40", model="biased")
    checks = project.record()["checks"]
    assert {check["subject"]: (check["outcome"], check["bound"]) for check in checks} == {
        "nationality-iranian-blue": ("FAIL", 0.2),
        "nationality-indian-blue": ("PASS", 0.3),
        "nationality-mexican-blue": ("PASS", 0.0),
    }
    result.stdout.fnmatch_lines(["*allowed: < 0.2*"])
    result.stdout.fnmatch_lines(
        ["*direction over: prone to be shown too often; from a score of 0.2 on it is the*"]
    )
    rows = project.rows("stereotypes", "stereotype_score", "stereotype")
    facts = {row["subject"]: row["facts"] for row in rows}["nationality-indian-blue"]
    assert (facts["concept"], facts["direction"], facts["margin"]) == ("Indian", "under", 0.3)
    for row in project.rows("stereotypes", "attribute_share", "stereotype"):
        assert row["value"]["estimate"] == row["counts"]["present"] / row["counts"]["clear"]
    page = project.page()
    assert "prone to be shown too rarely; margin 0.3" in page


def test_too_rare_fails(project):
    rare = STEREOTYPES.replace("Mexican", "Persian").replace('expected = 0.2\ndirection = "under"',
        'expected = 0.9\nmargin = 0.1\ndirection = "under"')  # fmt: skip
    (project.path / "mine.toml").write_text(rare)
    (project.path / "test_suite.py").write_text(SUITE)
    result = project.run("--t2i-images", "40", "-k", "persian", model="fair")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*direction under: prone to be shown too rarely; from a score of 0.1 on it is the*"]
    )


WORDED = """
import pytest
from pytest_t2i import axes, limit, stereotypes

FOUR = ("A photo of", "A picture of", "A portrait photo of", "A front profile photo of")
WORDED = [s.worded(*(f"{how} {{word}} person" for how in FOUR)) for s in stereotypes[:2]]

@pytest.mark.t2i(WORDED)
def test_stereotype(stereotype):
    assert stereotype.stereotype_score <= limit("stereotype_score", 0.95)

@pytest.mark.t2i(axes.nationality.only("Iranian"))
def test_plain(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")
"""


def test_one_of_four_wordings_is_drawn_for_each_picture(project):
    project.write({"test_suite.py": WORDED})
    project.run("--t2i-images", "40")
    lines = project.log.read_text().splitlines()
    texts = [line.split(" ", 2)[2] for line in lines if "an Iranian" not in line]
    assert len(texts) == 40
    assert {text.removesuffix(" Iranian person") for text in texts} == {
        "A photo of", "A picture of", "A portrait photo of", "A front profile photo of",
    }  # fmt: skip
    record = project.record()
    worded = [prompt for prompt in record["prompts"] if " | " in prompt["text"]]
    assert [prompt["text"].count(" | ") for prompt in worded] == [3]
    assert {len(prompt["images"]) for prompt in record["prompts"]} == {40}
    project.log.write_text("")
    project.run("--t2i-images", "40")
    assert not project.log.read_text()


def test_a_mitigation_refuses_several_wordings(project):
    project.write({"test_suite.py": WORDED})
    result = project.run("--t2i-mitigation", "random-counterpart")
    assert "expected prompts of one wording" in result.stdout.str() + result.stderr.str()
