"""A detector's certificate: what verdicts come to at its errors, and a certificate of another."""

from __future__ import annotations

import json

import pytest
from caveats import facts_of

from pytest_t2i import read_run
from pytest_t2i.plugin.exit_status import INCONCLUSIVE_STATUS
from pytest_t2i.verdicts.certificate import (
    Certificate,
    GroupErrors,
    Split,
    read_certificate,
    write_certificate,
)

MODEL = ("--t2i-images", "60", "-k", "test_model")
OPTION = ("--t2i-judge-certificate", "judge.json")


def right(images):
    """A group of as many men and as many women, all labelled right."""
    return GroupErrors({"male": {"male": images}, "female": {"female": images}})


def careless(images, wrong):
    """A group in which so many men are called women."""
    return GroupErrors(
        {"male": {"male": images - wrong, "female": wrong}, "female": {"female": images}}
    )


def certify(project, *splits, fingerprint=None):
    """Write judge.json for the detector of the project."""
    if fingerprint is None:
        project.run("--t2i-images", "3", "-k", "nurse", "--t2i-save-baseline", "base.json")
        plain = json.loads((project.path / "base.json").read_text())
        fingerprint = plain["conditions"]["detector_fingerprint"]
    everything = Split((), {"all": right(1000)})
    written = Certificate("fake", fingerprint, "labels", 2000, "2026-11-27", (everything, *splits))
    write_certificate(written, project.path / "judge.json")
    assert read_certificate(project.path / "judge.json") == written


def case(project):
    """The worst case of the check of the model."""
    (check,) = project.record()["checks"]
    return facts_of(check, "certificate")


@pytest.mark.slow
def test_a_verdict_holds_where_the_errors_are_small(project):
    certify(project, Split(("age",), {"young": right(5000), "old": right(5000)}))
    result = project.run(*MODEL, *OPTION)
    assert result.ret == 0
    assert not case(project)["hangs"]
    assert case(project)["outcome"] == "PASS"
    told = " ".join(result.stdout.str().split())
    assert "certificate: model_bias_score of model, PASS, at the detector's certified" in told
    assert "if alike in every prompt" in told


@pytest.mark.slow
def test_a_verdict_that_the_worst_group_would_turn_hangs_on_the_detector(project):
    certify(project, Split(("age",), {"young": careless(400, 120), "old": right(5000)}))
    result = project.run(*MODEL, *OPTION)
    assert result.ret == 0, "the verdict itself stays"
    assert case(project)["hangs"]
    assert case(project)["outcome"] == "INCONCLUSIVE"
    assert case(project)["basis"] == "worst group by age"
    told = " ".join(result.stdout.str().split())
    assert "the verdict depends on the detector" in told
    assert "depends on the detector" in (project.path / "reports/t2i/index.html").read_text()
    assert "depends on the detector" in (project.path / "reports/t2i/summary.md").read_text()
    run = read_run(project.path / "reports/t2i/run.json")
    assert {c.name: c.facts for c in run.checks[0].caveats}["certificate"]["hangs"]


@pytest.mark.slow
def test_under_xdist_and_for_prompts_the_same_is_said(project):
    certify(project, Split(("age",), {"young": careless(400, 120)}))
    result = project.run("--t2i-images", "60", *OPTION, "-n", "2")
    told = " ".join(result.stdout.str().split())
    assert "verdicts on prompts depend on the detector" in told
    assert "the verdict depends on the detector" in told


def test_a_certificate_of_another_detector_leaves_no_verdict(project):
    certify(project, fingerprint="0" * 64)
    result = project.run("--t2i-images", "20", "-k", "test_model", *OPTION)
    assert result.ret == INCONCLUSIVE_STATUS
    (check,) = project.record()["checks"]
    assert check["outcome"] == "INCONCLUSIVE"
    assert "its errors are unknown. Check it with: t2i detector check" in check["message"]


def test_without_the_option_nothing_is_recorded(project):
    project.run("--t2i-images", "3", "-k", "test_model")
    (check,) = project.record()["checks"]
    assert facts_of(check, "certificate") is None
    assert project.record()["settings"]["judge_certificate"] is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "no such certificate of a detector"),
        ("{", "not valid JSON"),
        ("{}", "expected schema"),
        ('{"schema": "pytest-t2i/certificate/1"}', "t2i detector check NAME"),
        (
            '{"schema": "pytest-t2i/certificate/1", "detector": "x", "fingerprint": "y", '
            '"labels": "z", "images": 3, "date": "2026-11-27", "splits": []}',
            "expected all images together",
        ),
        (
            '{"schema": "pytest-t2i/certificate/1", "detector": "x", "fingerprint": "y", '
            '"labels": "z", "images": -3, "date": "2026-11-27", "splits": []}',
            "images",
        ),
    ],
)
def test_a_file_that_is_no_certificate_is_refused(project, text, expected):
    if text is not None:
        project.write({"judge.json": text})
    result = project.run("--t2i-images", "3", "-k", "test_model", *OPTION)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert expected in " ".join(result.stderr.str().split())
