"""Earlier runs that judged the same tests are named, and the way to go on takes new images."""

from __future__ import annotations

from html import unescape

import pytest

from pytest_t2i import audit, axes

NURSE = ("-k", "nurse or test_model")
LINE = "judged before: "


def looks(project):
    """Seed and images of the earlier runs, as run.json has them."""
    found = project.record()["looked_at_before"]
    return [(look["seed"], look["images"]) for look in found]


def test_the_first_run_and_the_same_pictures_again_are_one_look(project):
    for _ in range(2):
        result = project.run("--t2i-images", "20", *NURSE)
        assert looks(project) == []
        assert LINE not in result.stdout.str()


@pytest.mark.slow
def test_runs_with_more_images_are_named_in_terminal_page_record_and_verdict(project):
    for images in (20, 30):
        project.run("--t2i-images", str(images), *NURSE)
    result = project.run("--t2i-images", "60", *NURSE)
    assert looks(project) == [(0, 20), (0, 30)]
    told = "2 runs, with 20 and 30 images"
    assert f"{LINE}{told}" in result.stdout.str()
    assert told in unescape(project.page())
    assert f"Judged before: {told}." in (project.path / "reports/t2i/summary.md").read_text()
    decided = [c for c in project.record()["checks"] if c["outcome"] != "INCONCLUSIVE"]
    assert decided
    for check in decided:
        said = "\n".join(caveat["message"] for caveat in check["caveats"])
        assert f"{LINE}{told}. After several such runs" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        ("--t2i-detector", "colour", "--t2i-seed", "7"),
        ("--t2i-images", "21"),
        ("-n", "2", "--t2i-images", "21"),
        ("--t2i-images", "19"),
    ],
)
def test_other_pictures_of_the_same_tests_are_a_look(project, other):
    project.run("--t2i-images", "20", *NURSE)
    project.run("--t2i-images", "20", *NURSE, *other)
    assert looks(project) == [(0, 20)]


@pytest.mark.parametrize("how", [("-k", "pilot"), ("--t2i-store", "elsewhere")])
def test_other_tests_and_stores_know_of_no_look(project, how):
    project.run("--t2i-images", "20", "-k", "nurse")
    project.run("--t2i-images", "30", *(("-k", "nurse") if how[0] != "-k" else ()), *how)
    assert looks(project) == []


def test_another_model_knows_of_no_look(project):
    project.run("--t2i-images", "20", *NURSE)
    project.run("--t2i-images", "30", *NURSE, model="biased")
    assert looks(project) == []


@pytest.mark.slow
def test_what_is_proposed_are_new_images_of_a_fresh_seed(project):
    project.run("--t2i-images", "20", "-k", "test_prompt")
    [step] = [s for s in project.record()["next_steps"] if s.startswith("run `pytest")]
    command = step.partition("`")[2].partition("`")[0]
    assert " --t2i-seed 1 --t2i-images " in command
    assert "images that were judged once are no new evidence" in step
    made = len(project.made())
    project.run(*command.split()[1:])
    assert looks(project) == [(0, 20)]
    images, prompts = int(command.split()[-1]), len(project.record()["prompts"])
    assert len(project.made()) == made + images * prompts
    assert f"({images * prompts} images" in step


def test_scripts_know_of_earlier_looks(tmp_path, monkeypatch):
    fakes = pytest.importorskip("fakes")
    monkeypatch.chdir(tmp_path)
    for images in (20, 30):
        found = audit(
            fakes.fair({}), axes.profession.only("nurse", "pilot"), detector=fakes.detector({}),
            images=images, store=tmp_path / "store",
        )  # fmt: skip
        found.verdict("model_bias_score", 0.9)
    assert [look.images for look in found.record.looked_at_before] == [20]
