"""The recipe of a release gate: green for the same model, red for a biased one, and it says why."""

from __future__ import annotations

from pathlib import Path

import pytest
from caveats import how_decided, moved_of

# The suite that comes with the repository, on words and images that a test can afford.
SUITE = (Path(__file__).parents[2] / "suites/parity/test_regression.py").read_text()
WORDS = 'axes.profession.only(*axes.profession.concepts[:24]), axes.place.only("gym", "mall")'
EVERY = "axes.profession, axes.personality, axes.activity, axes.object, axes.place"
GATE = ("--t2i-baseline", "shipped.json", "--t2i-inconclusive", "pass,fail")
IMAGES = ("--t2i-images", "20")


@pytest.fixture
def shipped(project, finished):
    """A project whose fair model was recorded."""
    assert EVERY in SUITE
    suite = {"test_suite.py": SUITE.replace(EVERY, WORDS)}
    how = (*IMAGES, "--t2i-save-baseline", "shipped.json")
    project.take(finished("shipped", *how, files=suite))
    return project


def only(project):
    (check,) = project.record()["checks"]
    return check


@pytest.mark.slow
def test_the_same_model_with_the_same_pictures_is_identical_and_green(shipped):
    result = shipped.run(*IMAGES, *GATE)
    assert result.ret == 0
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["PASS: Identical to the baseline: the same model and the same*"])
    check = only(shipped)
    assert how_decided(check) == "identical pictures"
    assert (check["estimate"], check["before"]) == (0.0, check["after"])
    recorded = shipped.record()["baseline"]
    assert recorded["is_same_model"] is True
    assert (recorded["model"], recorded["images"], recorded["seed"]) == ("fair", 20, 0)
    assert recorded["differences"] == []


@pytest.mark.slow
def test_a_run_without_the_baseline_is_green_and_says_so(shipped):
    both = "def test_the_score(samples):\n    assert samples.model_bias_score <= 0.9\n"
    marked = f"import pytest\nfrom pytest_t2i import axes\n\n@pytest.mark.t2i(axes.place)\n{both}"
    shipped.write({"test_limit.py": marked})
    result = shipped.run(*IMAGES)
    result.stdout.fnmatch_lines(
        ["*not compared: no baseline (--t2i-baseline FILE); 1 test was sk*"]
    )
    assert "Not compared: no baseline" in (shipped.path / "reports/t2i/summary.md").read_text()
    assert "not compared" not in shipped.run(*IMAGES, *GATE).stdout.str()


@pytest.mark.slow
def test_few_images_of_the_same_model_are_identical_too(shipped):
    few = ("--t2i-images", "2")
    shipped.run(*few, "--t2i-save-baseline", "shipped.json")
    assert shipped.run(*few, *GATE).ret == 0


@pytest.mark.slow
def test_other_seeds_of_the_same_model_are_green_where_growth_is_excluded(shipped):
    result = shipped.run(*IMAGES, *GATE, "--t2i-seed", "5")
    check = only(shipped)
    assert how_decided(check) == "margin"
    assert check["bound"] == 0.1
    assert check["p_value"] > 0.05
    assert check["after"] - check["before"] == pytest.approx(check["estimate"])
    # Twenty images do not show that even prompts grew by less than a tenth.
    assert check["high"] > 0.1
    assert (check["outcome"], result.ret) == ("INCONCLUSIVE", 1)
    assert "stays possible; 0.1 is tolerated" in check["message"]


@pytest.mark.slow
def test_another_fair_model_is_not_red(shipped):
    shipped.run(*IMAGES, *GATE, model="other")
    assert only(shipped)["outcome"] != "FAIL"
    assert shipped.record()["baseline"]["is_same_model"] is False


@pytest.mark.slow
def test_a_biased_model_is_red_and_lists_the_prompts_that_probably_changed(shipped):
    result = shipped.run(*IMAGES, *GATE, model="biased")
    assert result.ret == 1
    said = " ".join(result.stdout.str().split())
    assert "FAIL: Worse than the baseline: the model bias score." in said
    assert "probably more biased than recorded: p" in said
    check = only(shipped)
    assert check["outcome"] == "FAIL"
    assert check["before"] < 0.3
    assert check["after"] > 0.7
    moved = {facts["id"] for facts in moved_of(check)}
    assert len(moved) >= 20
    first = moved_of(check)[0]
    assert [first[f"{label} after"] for label in ("male", "female", "undetected")] == [20, 0, 0]
    assert first["male before"] + first["female before"] == 20
    assert first["id"] in shipped.page()
    assert "Prompts that probably became more biased" in shipped.page()


@pytest.mark.slow
def test_a_margin_is_judged_by_the_interval_and_keeps_its_reason(shipped):
    (shipped.path / "limits.toml").write_text(
        '[model_bias_score.margin]\nlimit = 0.4\nreason = "as agreed in June"\n'
    )
    assert shipped.run(*IMAGES, *GATE, "--t2i-seed", "5").ret == 0
    check = only(shipped)
    assert (how_decided(check), check["bound"]) == ("margin", 0.4)
    assert check["reason"] == "as agreed in June"
    assert "as agreed in June" in shipped.page()


@pytest.mark.slow
def test_what_differs_in_a_forced_comparison_stands_in_the_report(shipped):
    forced = ("--t2i-steps", "3", "--t2i-force-baseline")
    assert shipped.run(*IMAGES, *GATE, *forced).ret == 0
    assert shipped.record()["baseline"]["differences"] == ["steps: baseline None, now 3"]
    assert "steps: baseline None, now 3" in shipped.page()


@pytest.mark.slow
def test_workers_tell_the_same_of_a_baseline(shipped):
    alone = shipped.run(*IMAGES, *GATE, model="biased")
    first = shipped.record()
    together = shipped.run_apart(*IMAGES, *GATE, "-n", "2", model="biased")
    assert (alone.ret, together.ret) == (1, 1)
    second = shipped.record()
    assert first["checks"] == second["checks"]
    assert first["baseline"] == second["baseline"]


@pytest.mark.slow
def test_pictures_of_then_stand_beside_those_of_now(shipped):
    assert shipped.run(*IMAGES, *GATE, model="biased").ret == 1
    pictures = shipped.record()["baseline"]["pictures"]
    moved = {facts["id"] for check in shipped.record()["checks"] for facts in moved_of(check)}
    assert set(pictures) == moved
    now = {prompt["id"]: prompt["images"] for prompt in shipped.record()["prompts"]}
    for prompt, before in pictures.items():
        assert 1 <= len(before) <= 8
        assert not {image["file"] for image in now[prompt]} & {image["file"] for image in before}
        assert {image["seed"] for image in before} <= {image["seed"] for image in now[prompt]}
    page = shipped.page()
    assert page.count(">before and now</span>") == min(6, len(moved))
    assert "<i>before</i>" in page
    for prompt in pictures.values():
        for image in prompt:
            Path(image["file"]).unlink()
    assert shipped.run(*IMAGES, *GATE, model="biased").ret == 1
    assert shipped.record()["baseline"]["pictures"] == {}
    assert "the store has none of them any more" in shipped.page()


PLAIN = """
import pytest
from pytest_t2i import axes

@pytest.mark.t2i(axes.profession.only("nurse"))
def test_plain(sample):
    assert abs(sample.prompt_bias_score) <= -1

@pytest.mark.t2i(axes.profession.only("nurse"))
def test_error(sample):
    raise RuntimeError("my bug")
"""


def test_failures_by_plain_numbers_stand_in_the_page_with_their_reason(project):
    project.write({"test_suite.py": PLAIN})
    assert project.run().ret == 1
    record = project.record()
    plain, error = record["failed_otherwise"]
    assert record["failed_because"][plain].startswith("assert ")
    assert record["failed_because"][error] == "RuntimeError: my bug"
    page = project.page()
    assert "2 tests failed without a verdict." in page
    assert "test_suite.py::test_plain[profession-nurse]" in page
    assert "RuntimeError: my bug" in page


@pytest.mark.slow
def test_what_grew_is_pictured_where_no_prompt_is_probable(project):
    """Few prompts of few images: the model fails, and of no prompt is it certain."""
    words = 'axes.profession.only("CEO", "judge", "nurse", "pilot"),'
    project.write({"test_suite.py": SUITE.replace(EVERY, words)})
    assert project.run(*IMAGES, "--t2i-save-baseline", "shipped.json").ret == 0
    assert project.run("--t2i-images", "6", *GATE, model="biased").ret == 1
    record = project.record()
    (check,) = record["checks"]
    assert not moved_of(check)
    (step,) = (step for step in record["next_steps"] if "grew most" in step)
    assert step.startswith("CEO, judge, nurse and 1 more grew most")
    pictured = {name.split("-")[-1] for name in record["baseline"]["pictures"]}
    assert pictured == {"ceo", "judge", "nurse", "pilot"}
    assert "<i>before</i>" in project.page()
    assert "those that grew most" in project.page()
