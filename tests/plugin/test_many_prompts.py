"""The cost of planning, judging and reporting grows linearly with prompts: calls are counted."""

from __future__ import annotations

import cProfile
from pathlib import Path

import pytest

import pytest_t2i
from pytest_t2i.plugin import run as plugin_run
from pytest_t2i.verdicts import measurement as families
from pytest_t2i.verdicts.check import Check

SUITE = """
import pytest
from pytest_t2i import limit
from pytest_t2i.data import Prompt

PROMPTS = [Prompt(f"a person who is called {{k}}", "name", f"name {{k}}") for k in range({prompts})]

@pytest.mark.t2i(*PROMPTS)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")

@pytest.mark.t2i(*PROMPTS)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score")
"""
SOURCE = Path(pytest_t2i.__file__).parent
QUIET = ("-q", "-p", "no:cacheprovider", "--tb=no")


@pytest.fixture
def judged(monkeypatch):
    """How many members each family had when it was judged."""
    sizes = []
    judge = families.judge_family

    def counted(intervals, *args, **how):
        sizes.append(len(intervals))
        return judge(intervals, *args, **how)

    monkeypatch.setattr(families, "judge_family", counted)
    return sizes


def run(project, prompts, *arguments):
    project.write({"test_suite.py": SUITE.format(prompts=prompts)})
    return project.run("--t2i-images", "4", *QUIET, *arguments)


def calls(project, prompts):
    """Calls of our own functions in a run with so many prompts, those that only reckon left out.

    These take arrays, and as many steps as the numbers need.
    """
    profile = cProfile.Profile()
    profile.enable()
    run(project, prompts)
    profile.disable()
    assert len(project.record()["checks"]) == prompts + 1
    entries = (
        (Path(entry.code.co_filename), entry.callcount)
        for entry in profile.getstats()
        if not isinstance(entry.code, str)
    )
    return sum(count for path, count in entries if ours(path))


def ours(path):
    return SOURCE in path.parents and not {"statistics", "metrics"} & set(path.parts)


@pytest.mark.slow
def test_a_family_is_judged_once_however_many_prompts(project, judged):
    run(project, 60)
    assert judged == [60]


@pytest.mark.slow
def test_twice_the_prompts_cost_twice_the_calls(project):
    calls(project, 10)  # what is loaded and cached once
    few, more, most = (calls(project, prompts) for prompts in (20, 40, 80))
    # Linear: the last step costs twice the one before; quadratic: four times.
    assert most - more <= 2.3 * (more - few)


class Scans(list):
    """A list that counts how often it is gone through."""

    count = 0

    def __iter__(self):
        self.count += 1
        return super().__iter__()


def test_no_check_is_looked_for_among_all(project, monkeypatch):
    """Counted calls do not show it: a list is searched without any."""
    compared, scans, gather = [], [], plugin_run.gather

    def watched(report, session):
        session.checks = kept = Scans(session.checks)
        gather(report, session)
        scans.append(kept.count)

    monkeypatch.setattr(Check, "__eq__", lambda *pair: compared.append(pair))
    monkeypatch.setattr(plugin_run, "gather", watched)
    run(project, 20)
    assert len(scans) == 63  # three reports to each test
    assert not any(scans)
    assert not compared


@pytest.mark.slow
def test_many_prompts_finish(project, judged):
    result = run(project, 500)
    assert result.ret in (0, 1, 6)
    assert len(project.record()["checks"]) == 501
    assert judged == [500]
