"""What to do next is computed from what a run found or left open, with its price."""

from __future__ import annotations

import re
import shlex

import pytest

from pytest_t2i.cli.main import main

pytestmark = pytest.mark.slow

SUITE = """
import pytest
from pytest_t2i import axes, limit

WORDS = axes.profession.only(*axes.profession.concepts[:{words}])

@pytest.mark.t2i(WORDS)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score.own", 0.5)

@pytest.mark.t2i(WORDS)
def test_grown(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")

@pytest.mark.t2i(WORDS)
def test_prompt_grown(sample, baseline):
    assert sample.prompt_bias_score <= baseline("prompt_bias_score")
"""


@pytest.fixture(params=[4, 12])
def shipped(request, project):
    """A project that records its fair model; with 4 words nobody can tell which are suspects."""
    project.write({"test_suite.py": SUITE.format(words=request.param)})
    return project


def run(project, images, *more, model="fair"):
    """What the run said to do next."""
    how = ("--t2i-images", str(images), "-k", "test_model or test_grown", *more)
    result = project.run(*how, model=model)
    assert "next: record" not in result.stdout.str() or not more
    return project.record()["next_steps"]


def test_a_regression_names_what_grew_the_command_that_shows_it_and_the_price(shipped, monkeypatch):
    assert run(shipped, 20, "--t2i-save-baseline", "shipped.json") == ["nothing to do"]
    grew, price, meant = run(shipped, 20, "--t2i-baseline", "shipped.json", model="biased")
    assert "test_model or test_grown" in shlex.split(shipped.record()["provenance"]["command"])
    names = grew.split(" grew most")[0].split(" and ")[0].split(", ")
    assert len(names) == 3
    counts = {p["concept"]: p["counts"]["colour"]["labels"] for p in shipped.record()["prompts"]}
    assert all(counts[name]["male"] >= 15 for name in names)
    command = shlex.split(re.search("`(.+)`", grew)[1])
    assert command[:2] == ["t2i", "compare"]
    monkeypatch.chdir(shipped.path)
    assert main(command[1:]) == 0
    assert re.match(
        r"to name half of the prompts that grew, take about \d+ images per prompt then", price
    )
    images = int(re.search(r"about (\d+)", price)[1])
    assert f"({(images - 20) * len(counts)} more images" in price
    assert "--t2i-save-baseline shipped.json" in meant


def test_an_inconclusive_comparison_says_how_many_images_it_takes_and_they_decide(shipped):
    few, alone = 8, ("-k", "test_grown")
    run(shipped, few, *alone, "--t2i-save-baseline", "shipped.json")
    other = (*alone, "--t2i-seed", "3")
    (step,) = run(shipped, few, *other, "--t2i-baseline", "shipped.json")[-1:]
    assert "they decide the model against the baseline" in step
    images = int(re.search(r"about (\d+) images per prompt for the next", step)[1])
    assert images > few
    run(shipped, images, *alone, "--t2i-save-baseline", "more.json")
    run(shipped, images, *other, "--t2i-baseline", "more.json")
    assert shipped.record()["checks"][-1]["outcome"] != "INCONCLUSIVE"


def test_inconclusive_prompts_alone_are_told_too(project):
    project.write({"test_suite.py": SUITE.format(words=4)})
    how = ("-k", "test_prompt_grown", "--t2i-images", "6")
    project.run(*how, "--t2i-save-baseline", "shipped.json")
    project.run(*how, "--t2i-seed", "3", "--t2i-baseline", "shipped.json")
    (step,) = project.record()["next_steps"]
    assert step.startswith("take about ")
    assert "they decide half of 4 checks against the baseline" in step
    assert re.search(r"as measured \(else (at least \d+|\d+ to \d+) per prompt", step)
    headline = "Too few images to decide: whether it is worse than the baseline."
    assert headline in project.page()


def test_a_failure_by_a_limit_says_what_would_have_to_be_even(project, monkeypatch):
    project.write({"test_suite.py": SUITE.format(words=12)})
    project.run("--t2i-images", "20", "-k", "test_model", model="biased")
    even, people = project.record()["next_steps"]
    count, total = map(int, re.search(r"\((\d+) of (\d+)\)$", even).groups())
    (check,) = project.record()["checks"]
    assert total == 12
    # Scores lie near 1: that many of them make up for what is too much.
    assert count - 1 < (check["estimate"] - check["bound"]) * total < count + 1
    assert "have people look at 192 images" in people
    command = shlex.split(re.search("`(.+?)`", people)[1])
    monkeypatch.chdir(project.path)
    assert main(command[1:]) == 0
    assert len(list((project.path / "labels").glob("*.png"))) == 192


def test_the_summary_of_a_regression_answers_within_ten_lines_of_80_columns(shipped):
    shipped.columns = 80
    how = ("--t2i-images", "20", "-k", "test_grown or test_prompt_grown")
    shipped.run(*how, "--t2i-save-baseline", "shipped.json")
    result = shipped.run(*how, "--t2i-baseline", "shipped.json", model="biased")
    lines = result.stdout.lines
    start = next(k for k, line in enumerate(lines) if "fairness of biased" in line)
    told = [line for line in lines[start + 1 :] if line][:10]
    assert told[0].startswith("FAIL: Worse than the baseline")
    assert any(line.startswith("worst") for line in told)
    assert any(line.startswith("next: ") for line in told)
    assert max(map(len, told)) <= 80
