"""What is made, when, and how often."""

from __future__ import annotations

import re

import pytest

# 4 professions x 20 and 2 places x 20 images, and 4 professions x 2 gendered variants x 4.
NEUTRAL, GENDERED = 6 * 20, 4 * 2 * 4


def test_without_a_model_tests_are_skipped_with_one_line(project):
    result = project.run("-rs", model=None)
    result.assert_outcomes(passed=1, skipped=9)
    result.stdout.fnmatch_lines(["SKIPPED*no model given; run with --t2i-model NAME*"])
    assert not (project.path / ".t2i").exists()


def test_every_image_is_made_once(project):
    result = project.run()
    assert result.ret in (0, 1)
    made = project.made()
    assert len(made) == len(set(made)) == NEUTRAL + GENDERED
    result.stdout.fnmatch_lines([f"images: {NEUTRAL + GENDERED} made*"])


def test_a_second_run_makes_nothing(project):
    project.run()
    before = len(project.made())
    result = project.run()
    assert len(project.made()) == before
    result.stdout.fnmatch_lines([f"images: 0 made, {before} from the store"])


def test_more_images_make_the_missing_ones_only(project):
    project.run("--t2i-images", "20", "-k", "test_prompt")
    project.run("--t2i-images", "40", "-k", "test_prompt")
    made = project.made()
    assert len(made) == len(set(made)) == 4 * 40


def test_a_new_detector_makes_no_image(project):
    project.run("-k", "test_prompt")
    before = len(project.made())
    project.pytester.runpytest_subprocess(
        "--t2i-model", "fair", "--t2i-detector", "second,colour", "-k", "test_prompt"
    )
    assert len(project.made()) == before
    assert set(project.record()["prompts"][0]["counts"]) == {"second", "colour"}


def test_deselected_tests_make_nothing(project):
    project.run("-k", "nurse")
    assert len(project.made()) == 20
    assert all("nurse" in line for line in project.made())


def test_collect_only_says_how_many_images_are_needed(project):
    result = project.run("--collect-only", "--t2i-images", "3")
    made = project.run("--t2i-images", "3")
    told = re.search(r"these tests need (\d+) images", result.stdout.str())
    assert told is not None
    assert f"images: {told[1]} made" in made.stdout.str()


def test_collect_only_makes_nothing(project):
    result = project.run("--collect-only", "-q")
    result.stdout.fnmatch_lines(["test_suite.py::test_prompt*profession-nurse*"])
    assert project.made() == []
    assert not (project.path / ".t2i").exists()


def test_a_damaged_image_is_made_again(project):
    project.run("-k", "nurse")
    images = sorted((project.path / ".t2i").glob("images/*/*.png"))
    images[0].write_bytes(b"damaged")
    images[1].unlink()
    project.run("-k", "nurse")
    assert len(project.made()) == 22
    assert all(one.stat().st_size > 20 for one in images)


def test_last_failed_and_stop_at_first(project):
    result = project.run("-x", model="biased")
    assert result.parseoutcomes()["failed"] == 1
    again = project.run("--lf", model="biased")
    assert again.parseoutcomes()["failed"] >= 1


@pytest.mark.parametrize("dist", ["load", "loadfile"])
def test_workers_share_the_making(project, dist):
    result = project.run("-n", "2", "--dist", dist)
    made = project.made()
    assert len(made) == len(set(made)) == NEUTRAL + GENDERED
    result.stdout.fnmatch_lines([f"images: {NEUTRAL + GENDERED} made*"])


def test_workers_report_what_one_process_reports(project):
    project.run()
    alone = project.record()
    project.run("-n", "2")
    shared = project.record()
    assert shared["provenance"].pop("command").endswith("-n 2")
    assert alone["provenance"].pop("command")
    for key in ("prompts", "model_scores", "stereotypes", "gaps", "provenance"):
        assert shared[key] == alone[key]
    order = lambda check: (check["test"], check["metric"])
    assert sorted(shared["checks"], key=order) == sorted(alone["checks"], key=order)


def test_ids_are_stable_and_readable(project):
    first = project.run("--collect-only", "-q").stdout.lines
    second = project.run("--collect-only", "-q").stdout.lines
    assert [one for one in first if "::" in one] == [one for one in second if "::" in one]
    assert "test_suite.py::test_prompt[profession-nurse]" in first


def test_junit_carries_the_verdicts(project):
    project.run("--junitxml", "junit.xml", "-k", "nurse")
    text = (project.path / "junit.xml").read_text()
    assert 'name="t2i prompt_bias_score profession-nurse"' in text
    assert "n=20" in text
