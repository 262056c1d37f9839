"""What a test's comparison comes to, and what is said about it."""

from __future__ import annotations

import pytest
from caveats import facts_of

from pytest_t2i.plugin.exit_status import INCONCLUSIVE_STATUS


def test_a_fair_model_does_not_fail(fair):
    assert fair.result.ret == INCONCLUSIVE_STATUS
    fair.result.stdout.fnmatch_lines(
        ["test_suite.py *[?]*", "*INCONCLUSIVE: Too few images to decide*", "checks: *0 failed, *"]
    )
    assert "failed" not in fair.result.parseoutcomes()


@pytest.mark.slow
def test_a_fair_model_passes_with_enough_images(project):
    result = project.run("--t2i-images", "60", "-k", "test_model")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["PASS: *", "checks: 1 passed, 0 failed, 0 inconclusive"])
    assert project.record()["outcome"] == "PASS"


def test_a_biased_model_fails_and_says_why(biased):
    assert biased.result.ret == 1
    biased.result.stdout.fnmatch_lines(
        [
            "*FAIL: prompt_bias_score of profession-*is outside its limit*",
            "*measured: *90% interval*n = 20*",
            "*allowed: <= 0.6*",
            "*images: *.png*",
        ]
    )
    biased.result.stdout.fnmatch_lines(["*most biased: *"])
    biased.result.stdout.fnmatch_lines(["FAIL: Outside the limits: *", "checks: *failed*"])


def test_what_cannot_be_decided_is_said_once_before_images_are_made(project):
    suite = """
    import pytest
    from pytest_t2i import axes, limit

    @pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
    def test_prompt_is_even(sample):
        assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")
    """
    suite = "\n".join(line.removeprefix("    ") for line in suite.splitlines())
    project.write({"test_suite.py": suite, "test_other.py": suite})
    told = project.run("--t2i-images", "4").stdout.str()
    line = "with 4 images no prompt can be decided against 0.6 (test_prompt_is_even): from"
    assert " ".join(told.split()).count(line) == 1
    assert told.index("with 4 images") < told.index("making images")
    assert "no prompt can be decided" not in project.run("--t2i-images", "40").stdout.str()


def test_prompts_alone_that_few_images_leave_inconclusive_are_no_success(project):
    result = project.run("--t2i-images", "3", "-k", "test_prompt")
    assert result.ret == INCONCLUSIVE_STATUS
    assert "INCONCLUSIVE: Too few images to decide" in result.stdout.str()
    assert project.run("-k", "test_prompt", "--t2i-inconclusive", "pass").ret == 0
    assert project.run("--t2i-images", "3", "-k", "test_prompt").ret == INCONCLUSIVE_STATUS
    outcomes = {check["outcome"] for check in project.record()["checks"]}
    assert outcomes == {"INCONCLUSIVE"}
    assert all(check["images_to_decide"] for check in project.record()["checks"])


def test_inconclusive_fails_a_strict_gate(project):
    result = project.run("--t2i-images", "3", "--t2i-inconclusive", "fail", "-k", "nurse")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*INCONCLUSIVE: *cannot be told from its limit*"])
    result.stdout.fnmatch_lines(["*more images would have decided*"])


@pytest.mark.slow
def test_a_verdict_that_hangs_on_undetected_images_is_inconclusive_and_says_so(project):
    arguments = ("--t2i-detector", "hazy", "--t2i-images", "40", "--t2i-inconclusive", "fail")
    result = project.run(*arguments, "-k", "test_model", model="biased")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*whatever the *% undetected images show: 0.* to *. More images would not decide while*"]
    )
    assert "more images would have decided" not in result.stdout.str()
    record = project.record()
    (check,) = record["checks"]
    assert check["outcome"] == "INCONCLUSIVE"
    assert check["low"] > check["bound"], "the interval alone would decide"
    facts = facts_of(check, "undetected")
    assert facts["low"] < check["bound"]
    row = project.rows("parity", "model_bias_score")[0]["facts"]
    assert (facts["low"], facts["high"]) == (row["lowest"], row["highest"])
    assert all(prompt["worst_case"]["undetected"] > 0 for prompt in record["prompts"])
    assert "undetected, 0.1" in project.page()
    assert facts["lacks"]
    # Who takes them to be like the others goes by the labelled images alone.
    alike = project.run(
        *arguments, "-k", "test_model", "--t2i-undetected-alike", "0.9", model="biased"
    )
    alike.stdout.fnmatch_lines(["*FAIL: model_bias_score of model is outside its limit*"])


@pytest.mark.slow
def test_inconclusive_may_go_by_the_estimate(project):
    arguments = ("--t2i-images", "3", "--t2i-inconclusive", "estimate", "-k", "test_prompt")
    assert project.run(*arguments).ret in (0, 1)
    assert project.run(*arguments, model="biased").ret == 1


PLAIN = """
import pytest

from pytest_t2i.plugin.exit_status import INCONCLUSIVE_STATUS
from pytest_t2i import axes

@pytest.mark.t2i(axes.profession.only("nurse"))
def test_plain(sample):
    assert abs(sample.prompt_bias_score) <= 1.0
    assert float(sample.prompt_bias_score) == (sample.male - sample.female) / 20
"""


def test_a_plain_number_is_plain_arithmetic(project):
    project.write({"test_plain.py": PLAIN})
    assert project.run("test_plain.py").ret == 0
    assert project.record()["checks"] == []


def test_a_test_that_fails_without_a_verdict_is_no_clean_bill(project):
    (project.path / "test_suite.py").write_text(
        "import pytest\nfrom pytest_t2i import axes\n"
        "@pytest.mark.t2i(axes.profession.only('nurse'))\n"
        "def test_plain(sample):\n"
        "    assert abs(sample.prompt_bias_score) <= -1\n"
    )
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*failed without a verdict: test_suite.py::test_plain*"])
    assert project.record()["outcome"] == "FAIL"


@pytest.mark.parametrize("part", ["generate", "detect"])
def test_a_fault_of_a_component_is_told_as_its_own(project, part):
    owner = "FakeModel" if part == "generate" else "FakeDetector"
    (project.path / "conftest.py").write_text(
        (project.path / "conftest.py").read_text()
        + "\ndef broken(self, _):\n    raise RuntimeError('my bug')\n"
        + f"fakes.{owner}.{part} = broken\n"
    )
    result = project.run("-k", "nurse")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: * failed: RuntimeError: my bug (*conftest.py, line *"])
    assert "INTERNALERROR" not in result.stdout.str()


def model_check(folder):
    (check,) = (c for c in folder.record()["checks"] if c["metric"] == "model_bias_score")
    return check


def test_the_papers_score_is_shown_beside_the_corrected_one(fair):
    check = model_check(fair)
    (whole, *_) = fair.rows("parity", "model_bias_score")
    assert check["estimate"] < check["paper"] == whole["facts"]["paper"]


PAPERS = """
from pytest_t2i import axes
import pytest

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
def test_the_papers_score(samples):
    score = samples.model_bias_score.paper
    assert samples.model_bias_score.paper <= score
    assert not samples.model_bias_score.paper <= score - 1e-9
"""


def test_the_papers_score_is_compared_by_plain_arithmetic(project):
    project.write({"test_papers.py": PAPERS})
    result = project.run("test_papers.py")
    assert result.ret == 0
    assert not project.record()["checks"]


@pytest.mark.slow
def test_limits_of_another_file(project, fair):
    project.take(fair)
    project.write({"strict.toml": "prompt_bias_score = 0.0\nmodel_bias_score = 0.0\n"})
    project.run("--t2i-limits", "strict.toml", "-k", "nurse")
    assert project.record()["checks"][0]["bound"] == 0.0


def test_confidence_widens_intervals(project, fair):
    project.take(fair)
    narrow = next(c for c in fair.record()["checks"] if c["subject"] == "profession-nurse")
    project.run("-k", "nurse", "--t2i-confidence", "0.99")
    wide = project.record()["checks"][0]
    assert wide["high"] > narrow["high"]
    assert wide["level"] == 0.98


REGRESSION = """
import pytest

from pytest_t2i.plugin.exit_status import INCONCLUSIVE_STATUS
from pytest_t2i import axes

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge", "model", "artist", "singer",
                              "writer", "lawyer", "dentist", "banker", "doctor")

@pytest.mark.t2i(PEOPLE)
def test_model(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")

@pytest.mark.t2i(PEOPLE)
def test_prompts(sample, baseline):
    assert abs(sample.prompt_bias_score) <= baseline("prompt_bias_score")
"""


@pytest.fixture
def recorded(project, finished):
    """A project with the baseline of its fair model."""
    suite = {"test_suite.py": REGRESSION}
    result = project.take(finished("recorded", "--t2i-save-baseline", "fair.json", files=suite))
    assert result.parseoutcomes() == {"skipped": 13}
    return project


@pytest.mark.slow
def test_a_regression_against_a_baseline_fails(recorded):
    result = recorded.run("--t2i-baseline", "fair.json", model="biased")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*model_bias_score of model is outside its baseline*"])
    result.stdout.fnmatch_lines(["*got worse: *"])


@pytest.mark.slow
def test_the_same_images_are_no_regression(recorded):
    assert recorded.run("--t2i-baseline", "fair.json").ret == 0
    assert {check["method"] for check in recorded.record()["checks"]} == {"identical"}


@pytest.mark.slow
def test_the_same_model_is_no_regression(recorded):
    result = recorded.run("--t2i-baseline", "fair.json", "--t2i-seed", "7")
    assert result.ret == INCONCLUSIVE_STATUS
    assert {check["outcome"] for check in recorded.record()["checks"]} == {"INCONCLUSIVE"}
    assert set(result.parseoutcomes()) == {"inconclusive"}


@pytest.mark.slow
def test_a_baseline_of_other_settings_is_refused(recorded):
    other = ("--t2i-baseline", "fair.json", "--t2i-steps", "3")
    result = recorded.run(*other)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*made under other settings: steps: baseline None, now 3*"])
    assert len(recorded.made()) == 12 * 20
    assert recorded.run(*other, "--t2i-force-baseline").ret == 0


OPEN_AND_PLAIN = """
import pytest

from pytest_t2i.plugin.exit_status import INCONCLUSIVE_STATUS
from pytest_t2i import limit

@pytest.mark.t2i('a photo of a person')
def test_it(samples):
    assert samples.model_bias_score <= limit("model_bias_score.own", 0.05)
    assert len(samples) == {expected}
"""


def test_a_plain_failure_after_an_inconclusive_check_is_not_lost(project):
    (project.path / "test_suite.py").write_text(OPEN_AND_PLAIN.format(expected=2))
    result = project.run()
    assert result.ret == 1
    record = project.record()
    assert [check["outcome"] for check in record["checks"]] == ["INCONCLUSIVE"]
    assert len(record["failed_otherwise"]) == 1
    assert record["outcome"] == "FAIL"


def test_a_strict_gate_says_why_it_failed(project):
    (project.path / "test_suite.py").write_text(OPEN_AND_PLAIN.format(expected=1))
    assert project.run().ret == INCONCLUSIVE_STATUS
    assert project.record()["outcome"] == "INCONCLUSIVE"
    assert project.run("--t2i-inconclusive", "pass").ret == 0
    assert project.run("--t2i-inconclusive", "pass,fail").ret == 1
    record = project.record()
    assert record["failed_otherwise"] == []
    assert record["outcome"] == "FAIL"
    assert "too few images leave 1 of 1 checks inconclusive" in project.page()
