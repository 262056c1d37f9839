"""What is made, when, and how often."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest

# 4 professions x 20 and 2 places x 20 images, and 4 professions x 2 gendered variants x 4.
NEUTRAL, GENDERED = 6 * 20, 4 * 2 * 4


def test_without_a_model_tests_are_skipped_with_one_line(project):
    result = project.run("-rs", model=None)
    result.assert_outcomes(passed=1, skipped=9)
    result.stdout.fnmatch_lines(["SKIPPED*no model given; run with --t2i-model NAME*"])
    assert not (project.path / ".t2i").exists()


OTHER = {
    "skipped": "import pytest\ndef test_other():\n    pytest.skip('no reason')\n",
    "passed": "def test_other(): pass\n",
    "failed": "def test_other(): assert 0\n",
}
OURS = """
import pytest
from pytest_t2i import axes

@pytest.mark.t2i(axes.place.only("gym", "office"))
def test_ours(sample): pass

def test_fixture(model): pass
"""


@pytest.mark.parametrize(
    ("files", "options", "status", "last"),
    [
        ({"test_ours.py": OURS}, (), 5, "t2i: nothing was tested: 3 tests skipped for want of*"),
        ({"test_ours.py": OURS}, ("-k", "fixture"), 5, "t2i: nothing was tested: 1 test skipped*"),
        pytest.param(
            {"test_ours.py": OURS},
            ("-n", "2"),
            5,
            "t2i: nothing was tested: 3 tests skipped*",
            marks=pytest.mark.slow,
        ),
        ({"test_ours.py": OURS}, ("-q", "-q"), 5, "t2i: nothing was tested: 3 tests skipped*"),
        ({"test_ours.py": OURS}, ("--t2i-images", "4"), 5, "t2i: nothing was tested: 3 tests*"),
        ({"test_ours.py": OURS, "test_o.py": OTHER["skipped"]}, (), 5, "t2i: nothing was tested*"),
        ({"test_ours.py": OURS, "test_o.py": OTHER["passed"]}, (), 0, "t2i: 3 tests skipped for*"),
        ({"test_ours.py": OURS, "test_o.py": OTHER["failed"]}, (), 1, "t2i: 3 tests skipped for*"),
        ({"test_o.py": OTHER["skipped"]}, (), 0, "*1 skipped in*"),
        ({"test_ours.py": OURS}, ("--collect-only",), 0, "*3 tests collected in*"),
        ({"test_o.py": ""}, (), 5, "*no tests ran in*"),
    ],
)
def test_a_run_without_a_model_is_no_success(pytester, files, options, status, last):
    pytester.makepyfile(**{name.removesuffix(".py"): text for name, text in files.items()})
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)
    assert result.ret == status
    result.stdout.fnmatch_lines_random([last])
    if last.startswith("t2i"):
        assert result.outlines[-1].startswith("t2i: ")


def test_every_image_is_made_once(fair):
    made = fair.made()
    assert len(made) == len(set(made)) == NEUTRAL + GENDERED
    fair.result.stdout.fnmatch_lines([f"images: {NEUTRAL + GENDERED} made*"])


def test_a_second_run_makes_nothing(project, fair):
    project.take(fair)
    result = project.run()
    assert project.made() == fair.made()
    result.stdout.fnmatch_lines([f"images: 0 made, {NEUTRAL + GENDERED} from the store"])


def test_more_images_make_the_missing_ones_only(project, fair):
    project.take(fair)
    project.run("--t2i-images", "30", "-k", "test_prompt")
    made = project.made()
    assert made[: NEUTRAL + GENDERED] == fair.made()
    assert len(made) == len(set(made)) == NEUTRAL + GENDERED + 4 * 10


def test_a_new_detector_makes_no_image(project, fair):
    project.take(fair)
    project.run("--t2i-detector", "second,colour", "-k", "test_prompt")
    assert project.made() == fair.made()
    assert set(project.record()["prompts"][0]["counts"]) == {"second", "colour"}


def test_deselected_tests_make_nothing(project):
    project.run("-k", "nurse")
    assert len(project.made()) == 20
    assert all("nurse" in line for line in project.made())


def test_collect_only_says_how_many_images_are_needed(project):
    told = f"*these tests need {NEUTRAL + GENDERED} images*"
    project.run("--collect-only").stdout.fnmatch_lines([told])


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
    assert all(image.stat().st_size > 20 for image in images)


@pytest.mark.slow
def test_last_failed_and_stop_at_first(project, biased):
    project.take(biased)
    result = project.run("-x", model="biased")
    assert result.parseoutcomes()["failed"] == 1
    again = project.run("--lf", model="biased")
    assert again.parseoutcomes()["failed"] >= 1


@pytest.mark.parametrize(
    "how", ["-x", "--maxfail=1", "--sw", pytest.param("--sw -n 2", marks=pytest.mark.slow)]
)
def test_a_run_that_stops_after_a_failure_as_asked_has_failed(project, how):
    given = ("--t2i-model", "biased", "--t2i-detector", "colour", "-k", "test_prompt")
    result = project.run_plainly(*how.split(), *given)
    assert result.ret == 1
    record = project.record()
    assert (record["outcome"], record["is_interrupted"]) == ("FAIL", False)
    (note,) = (note for note in record["work"]["notes"] if "as asked" in note)
    assert re.fullmatch(r"stopped after a failure, as asked: [1-6] of \d tests ran", note)


LOAD, LOAD_FILE = "load", pytest.param("loadfile", marks=pytest.mark.slow)


@pytest.fixture(params=[LOAD, LOAD_FILE])
def shared(request, finished):
    """The same run, shared out among two workers."""
    dist = request.param
    return finished(f"shared-{dist}", "-n", "2", "--dist", dist, apart=True)


@pytest.mark.slow
def test_workers_share_the_making(shared):
    made = shared.made()
    assert len(made) == len(set(made)) == NEUTRAL + GENDERED
    shared.result.stdout.fnmatch_lines([f"images: {NEUTRAL + GENDERED} made*"])


@pytest.mark.slow
def test_workers_report_what_one_process_reports(shared, fair):
    together, alone = shared.record(), fair.record()
    assert " -n 2 " in together["provenance"].pop("command")
    assert alone["provenance"].pop("command")
    for key in ("prompts", "audits", "provenance"):
        assert moved(shared, together[key]) == moved(fair, alone[key])
    order = lambda check: (check["test"], check["metric"], check["subject"])
    checks = [moved(of, sorted(of.record()["checks"], key=order)) for of in (shared, fair)]
    assert checks[0] == checks[1]


def moved(folder, part):
    """A part of a record as it would read in any other folder."""
    return json.loads(json.dumps(part).replace(str(folder.path), ""))


def test_ids_are_stable_and_readable(project):
    first = project.run("--collect-only", "-q").stdout.lines
    second = project.run("--collect-only", "-q").stdout.lines
    assert [line for line in first if "::" in line] == [line for line in second if "::" in line]
    assert "test_suite.py::test_prompt[profession-nurse]" in first


def test_junit_names_pictures_as_one_types_them_here(project):
    project.run("--junitxml", "junit.xml", "-k", "test_prompt", model="biased")
    text = (project.path / "junit.xml").read_text()
    assert "images: .t2i/images/" in text
    assert str(project.path) not in text


def test_junit_carries_the_verdicts(project):
    project.run("--junitxml", "junit.xml", "-k", "nurse")
    text = (project.path / "junit.xml").read_text()
    assert 'name="t2i prompt_bias_score profession-nurse"' in text
    assert "n=20" in text


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only"])
def test_a_plan_of_fixtures_makes_nothing_and_interrupts_nothing(project, option):
    result = project.run(option, "-k", "nurse")
    assert result.ret in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    assert not project.made()
    assert not (project.path / "reports").exists()


RERUNS = """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    for left in (2, 1, 0):  # as pytest-rerunfailures does
        for report in runtestprotocol(item, nextitem=nextitem, log=False):
            if report.failed and left:
                report.outcome = "rerun"
            item.ihook.pytest_runtest_logreport(report=report)
    return True
"""


def test_a_test_that_is_run_again_counts_once(project):
    project.write({"conftest.py": (project.path / "conftest.py").read_text() + RERUNS})
    project.run("-k", "test_prompt", model="biased")
    record = project.record()
    tests = [check["test"] for check in record["checks"]]
    assert len(tests) == len(set(tests)) == 4
    assert record["outcome"] == "FAIL"


LOADED = """
from pathlib import Path
import fakes

def slow(options):
    Path("loaded").touch()
    return fakes.fair(options)
"""


@pytest.mark.parametrize("option", ["--setup-plan", "--collect-only"])
def test_a_plan_of_fixtures_loads_no_model(project, option):
    project.write({"loading.py": LOADED})
    result = project.run(option, "-k", "nurse", model="loading:slow")
    assert result.ret == pytest.ExitCode.OK
    assert not (project.path / "loaded").exists()
    project.run("-k", "nurse", model="loading:slow")
    assert (project.path / "loaded").exists()


def cases(project):
    """Name of a test -> its element in the JUnit file; None is the element of all of them."""
    suite = ET.parse(project.path / "junit.xml").getroot()[0]
    return {None: suite} | {case.get("name"): case for case in suite.iter("testcase")}


def check_inconclusive_is_skipped(project):
    tests = cases(project)
    assert (tests[None].get("tests"), tests[None].get("skipped")) == ("4", "4")
    skipped = tests["test_prompt[profession-nurse]"].find("skipped")
    assert skipped.get("message").startswith("INCONCLUSIVE: prompt_bias_score of profession-nurse ")
    assert "\nmeasured: " in skipped.text


FEW = ("--junitxml", "junit.xml", "-k", "test_prompt", "--t2i-images", "3")


@pytest.mark.parametrize("policy", ["status", "pass", "fail"])
def test_junit_has_an_inconclusive_test_as_skipped(project, policy):
    """It has been written as one that passed, which a pipeline takes for a fair model."""
    project.run(*FEW, "--t2i-inconclusive", policy)
    if policy != "fail":
        return check_inconclusive_is_skipped(project)
    suite = cases(project)[None]
    assert (suite.get("failures"), suite.get("skipped")) == ("4", "0")
    return None


@pytest.mark.slow
def test_junit_has_an_inconclusive_test_of_a_worker_as_skipped(project):
    project.run_forked(*FEW, "-n", "2")
    check_inconclusive_is_skipped(project)


BASELINE_TOO = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
def test_model(samples, baseline):
    assert samples.model_bias_score <= limit("model_bias_score")
    assert samples.model_bias_score <= baseline("model_bias_score")
"""


def test_junit_names_a_change(project):
    """The properties of a limit and of a change had the same name."""
    project.write({"test_suite.py": BASELINE_TOO, "limits.toml": "model_bias_score = 0.99"})
    project.run("--t2i-save-baseline", "base.json")
    against = ("--t2i-baseline", "base.json", "--t2i-anchor", "base.json")
    project.run("--junitxml", "junit.xml", *against, model="biased")
    found = cases(project)["test_model"].iter("property")
    properties = {one.get("name"): one.get("value") for one in found}
    assert list(properties) == [
        "t2i model_bias_score model",
        "t2i change of model_bias_score model since the baseline",
        "t2i change of model_bias_score model since the anchor",
    ]
    assert " -> " in properties["t2i change of model_bias_score model since the baseline"]


@pytest.mark.parametrize("where", ["CI", "BUILD_NUMBER", None])
def test_the_verdict_is_the_last_block_and_a_failed_test_one_line(project, monkeypatch, where):
    """In continuous integration, pytest printed the whole text of each failed test after it."""
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    if where is not None:
        monkeypatch.setenv(where, "1")
    lines = project.run(model="biased").stdout.lines
    summary = next(k for k, line in enumerate(lines) if " short test summary info " in line)
    verdict = next(k for k, line in enumerate(lines) if line.startswith("FAIL: "))
    assert summary < verdict
    failed = lines[summary + 1 : verdict - 1]
    assert [line.split(maxsplit=1)[0] for line in failed] == ["FAILED"] * len(failed)
    assert "fairness of biased" in lines[verdict - 1]
    assert lines[-2].startswith("report: ")
