"""Prompts whose pictures come from the same seeds: there is no verdict on the model."""

from __future__ import annotations

import csv

import pytest
from PIL import Image

from pytest_t2i.generation.seeds import seeds_of, seeds_up_to

SUITE = """
import pytest
from pytest_t2i import Axis, limit

WORDS = Axis("w", "a photo of a {word}", ("nurse", "pilot", "chef"))

@pytest.mark.t2i(WORDS)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score.own", 0.9)

@pytest.mark.t2i(WORDS)
def test_groups(samples):
    assert samples.group_distance <= limit("group_distance.own", 0.9)

@pytest.mark.t2i(WORDS)
def test_word(sample):
    assert sample.prompt_bias_score <= limit("prompt_bias_score.own", 0.9)
"""
GATE = """
import pytest
from pytest_t2i import Axis

@pytest.mark.t2i(Axis("w", "a photo of a {word}", ("nurse", "pilot", "chef")))
def test_model(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")
"""
PROMPTS = [f"a photo of a {word}" for word in ("nurse", "pilot", "chef")]
IMAGES = 20
OF_MODEL = {"model_bias_score", "group_distance"}
KINDS = {
    "shared": lambda text: range(IMAGES),
    "own": lambda text: seeds_of(0, text, IMAGES),
    # Three of the 60 pictures have the seed of two others: 0.1 on average.
    "tenth": lambda text: [0, *seeds_of(0, text, IMAGES - 1)],
    "range": lambda text: seeds_up_to(39, 0, text, IMAGES),
    "none": lambda text: IMAGES * [""],
    "blank for one": lambda text: IMAGES * [""] if "nurse" in text else seeds_of(0, text, IMAGES),
}


def folder(project, kind):
    """Pictures of three prompts, as many blue as red ones, with these seeds."""
    made = project.path / "mine"
    made.mkdir(exist_ok=True)
    with (made / "manifest.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        columns = ["file", "prompt", *(["seed"] if kind != "none" else [])]
        writer.writerow(columns)
        for at, prompt in enumerate(PROMPTS):
            for k, seed in enumerate(KINDS[kind](prompt)):
                picture = Image.new("RGB", (16, 16), (40, 60, 200) if k % 2 else (200, 60, 40))
                picture.putpixel((0, 0), (k, at, 0))
                picture.save(made / f"{at}-{k}.png")
                writer.writerow([f"{at}-{k}.png", prompt, seed][: len(columns)])


def judged(project, kind, *arguments):
    """Checks of a run on a folder, and the run."""
    folder(project, kind)
    project.write({"test_suite.py": SUITE})
    result = project.run("--t2i-model", "images:mine", *arguments)
    return project.record()["checks"], result


def test_shared_seeds_leave_the_model_without_a_verdict_and_prompts_with_one(project):
    checks, result = judged(project, "shared")
    assert result.ret == 6
    of_model = [check for check in checks if check["metric"] in OF_MODEL]
    assert [(c["outcome"], c["low"]) for c in of_model] == 2 * [("INCONCLUSIVE", None)]
    for check in of_model:
        assert check["message"].startswith(
            "60 of 60 pictures share their seed with pictures of other prompts (on average over "
            "all, 2 of them)"
        )
        assert "t2i list prompts SUITE --manifest" in check["message"]
    assert {c["outcome"] for c in checks if c["metric"] not in OF_MODEL} == {"PASS"}
    summary = (project.path / "reports/t2i/summary.md").read_text()
    for told in (result.stdout.str(), project.page(), summary):
        assert "60 of 60 pictures share their seed" in " ".join(told.split())


@pytest.mark.parametrize("kind", ["own", "tenth", "none", "blank for one"])
def test_the_model_is_judged_by_pictures_of_seeds_of_their_own(project, kind):
    checks, result = judged(project, kind)
    assert result.ret == 0
    assert {check["outcome"] for check in checks} == {"PASS"}


def test_seeds_that_agree_by_chance_count_too(project):
    checks, _ = judged(project, "range")
    messages = [c["message"] for c in checks if c["metric"] in OF_MODEL]
    assert all("share their seed with pictures of other prompts" in m for m in messages)


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        ("shared", "shared", "60 of 60 pictures share their seed"),
        ("own", "shared", "60 of 60 pictures share their seed"),
        ("shared", "own", "in the baseline, 60 of 60 pictures share their seed"),
        ("none", "own", ""),
    ],
)
def test_a_baseline_is_compared_with_where_neither_side_shares_seeds(project, then, now, said):
    project.write({"test_suite.py": GATE})
    folder(project, then)
    project.run("--t2i-model", "images:mine", "--t2i-save-baseline", "b.json")
    folder(project, now)
    project.run("--t2i-model", "images:mine", "--t2i-baseline", "b.json")
    (check,) = project.record()["checks"]
    assert check["message"].startswith(said)
    assert (check["low"] is None) == bool(said)


def test_a_small_range_of_a_service_is_named(project):
    project.write({
        "test_suite.py": SUITE,
        "ours.toml": '[models.ours]\nadapter = "fair"\npath = "ours"\nmost_seed = 29\n',
    })  # fmt: skip
    project.run("--t2i-catalogue", "ours.toml", "--t2i-model", "ours")
    checks = {check["metric"]: check for check in project.record()["checks"]}
    assert "The model takes the seeds 0 to 29 alone" in checks["model_bias_score"]["message"]
    assert checks["prompt_bias_score"]["outcome"] == "PASS"
