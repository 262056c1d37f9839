"""--t2i-executor: the built-in ones, a project's own, and faulty ones."""

from __future__ import annotations

import pytest

CONFTEST = """
import fakes

class Counted:
    def __init__(self, options, fault):
        self.options, self.fault = options, fault

    def run(self, requests):
        requests = list(requests)
        if self.fault == "raises":
            raise RuntimeError("the cluster is away")
        for request in reversed(requests):
            yield request, self.options.model().generate([request])[0]
            if self.fault == "twice":
                yield request, self.options.model().generate([request])[0]
            if self.fault == "missing":
                return

    def close(self):
        print("closed with", self.options.batch, "a batch from", self.options.source or "nowhere")

def counted(options):
    return None if options.source == "none" else Counted(options, options.source)

def pytest_t2i_models():
    return {"fair": fakes.fair, "local": lambda options: fakes.fair(options)}

def pytest_t2i_detectors():
    return {"colour": fakes.detector}

def pytest_t2i_executors():
    return {"counted": counted}
"""
LISTED = """
class Listed:
    def __init__(self, options):
        print("opened")
        self.options = options

    def run(self, requests):
        requests = list(requests)
        return list(zip(requests, self.options.model().generate(requests)))

    def close(self):
        print("shut")

def pytest_t2i_executors():
    return {"counted": counted, "listed": Listed}
"""
SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")
"""


@pytest.fixture
def small(project):
    (project.path / "conftest.py").write_text(CONFTEST)
    for file in project.path.glob("test_*.py"):
        file.unlink()
    (project.path / "test_small.py").write_text(SUITE)
    return project


def text(result) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def test_a_project_brings_its_own(small):
    result = small.run("--t2i-executor", "counted", "--t2i-batch", "3", "-s", model="fair")
    assert result.ret in (0, 6)
    assert "closed with 3 a batch from nowhere" in text(result)
    assert len(small.made()) == 40


@pytest.mark.slow
def test_rounds_share_it_and_a_list_is_taken(small):
    conftest = (small.path / "conftest.py").read_text()
    (small.path / "conftest.py").write_text(conftest + LISTED)
    result = small.run("--t2i-executor", "listed", "--t2i-sequential", "-s", model="fair")
    assert result.ret in (0, 6)
    assert len(set(small.made())) == len(small.made()) > 8
    assert result.stdout.str().count("opened") == result.stdout.str().count("shut") == 1


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("twice", "executor 'counted:twice': expected each request once, got one twice"),
        ("missing", "executor 'counted:missing': expected 40 images, 39 are missing"),
        ("raises", "executor 'counted:raises' failed: RuntimeError: the cluster is away"),
        ("none", "executor 'counted:none': expected an object with run(requests), got None"),
    ],
)
def test_a_faulty_one_is_told_as_its_fault_and_never_asked_for_ever(small, fault, says):
    result = small.run("--t2i-executor", f"counted:{fault}", model="fair")
    assert result.ret == 4
    assert says in text(result)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("cluster", "unknown executor 'cluster'"),
        ("in-process:2", "expected in-process, without anything behind it, got 'in-process:2'"),
        ("auto:2", "expected auto, got 'auto:2'"),
        ("processes:0", "expected processes:N with N from 1 to 64, got '0'"),
        ("processes:two", "expected processes:N with N from 1 to 64, got 'two'"),
        ("nowhere:factory", "module 'nowhere' not found"),
        ("fakes:nothing", "nothing"),
    ],
)
@pytest.mark.slow
def test_a_mistyped_one_is_a_usage_error(small, name, says):
    result = small.run("--t2i-executor", name, model="fair")
    assert result.ret == 4
    assert says in text(result)


@pytest.mark.slow
def test_a_model_that_no_other_process_can_load_is_a_usage_error(small):
    result = small.run("--t2i-executor", "processes:2", model="local")
    assert result.ret == 4
    told = "model 'local' cannot be loaded in another process"
    assert text(result).count(told) == 1
    assert "Name it as module:factory, or leave --t2i-executor out" in text(result)


@pytest.mark.slow
def test_several_processes_make_what_one_makes(small):
    here = small.run("--t2i-store", "here", model="fakes:fair")
    apart = small.run_apart(
        "--t2i-executor", "processes:2", "--t2i-batch", "4", "--t2i-store", "apart",
        model="fakes:fair",
    )  # fmt: skip
    assert here.ret == apart.ret
    pictures = [
        {path.name: path.read_bytes() for path in (small.path / store).rglob("*.png")}
        for store in ("here", "apart")
    ]
    assert len(pictures[0]) == 40
    assert pictures[0] == pictures[1]


WATCHED = """
import os
import fakes

class Watched(fakes.FakeDetector):
    def detect(self, images):
        with open("looked.txt", "a") as file:
            file.write(f"{os.getpid()} {len(images)}\\n")
        return super().detect(images)

def load(options):
    return Watched()
"""


@pytest.mark.slow
def test_detectors_look_where_the_images_are_made(small):
    (small.path / "watched.py").write_text(WATCHED)
    seen = {}
    for where in ("here", "worker"):
        result = small.run_apart(
            "--t2i-executor", "processes:2", "--t2i-batch", "4", "--t2i-store", where,
            "--t2i-detector", "watched:load", "--t2i-detect-where", where, model="fakes:fair",
        )  # fmt: skip
        lines = (small.path / "looked.txt").read_text().split("\n")[:-1]
        (small.path / "looked.txt").unlink()
        seen[where] = {line.split()[0] for line in lines}
        assert sum(int(line.split()[1]) for line in lines) == 40
        assert "40 made" in text(result)
        verdicts = [line for line in result.outlines if "prompt_bias_score" in line]
        seen[f"{where} says"] = [result.ret, verdicts]
    assert len(seen["here"]) == 1
    assert len(seen["worker"]) == 2
    assert seen["here says"] == seen["worker says"]


@pytest.mark.parametrize("name", ["auto", "in-process"])
def test_an_executor_without_workers_cannot_look_there(small, name):
    result = small.run("--t2i-executor", name, "--t2i-detect-where", "worker", model="fair")
    assert result.ret == 4
    assert f"--t2i-executor processes:2 or ray, got '{name}', which makes" in text(result)
