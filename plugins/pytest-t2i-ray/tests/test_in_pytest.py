"""The executor as a user meets it: same pictures, same verdicts, and one message for a mistake."""

from __future__ import annotations

import pytest
import ray_project
from ray_project import made, pictures, run, verdicts

pytestmark = pytest.mark.slow
FEW = ("--t2i-images", "10", "--t2i-batch", "4")
ON_CPUS = ("--t2i-executor", "ray:2", "--t2i-ray-cpus", "1")


@pytest.fixture
def project(tmp_path):
    return ray_project.write(tmp_path / "project")


def test_pictures_and_verdicts_are_those_of_one_process(project):
    status, _ = run(project, *FEW, "--t2i-store", "here")
    here = verdicts(project)
    told, said = run(project, *FEW, *ON_CPUS, "--t2i-store", "there")
    assert status == told, said
    assert "images: 40 made" in said
    assert pictures(project / "here") == pictures(project / "there")
    assert len(pictures(project / "here")) == 40
    assert verdicts(project) == here
    assert set(made(project).values()) == {2}
    # What is stored is not made again, and Ray is not even started.
    _, said = run(project, *FEW, "--t2i-executor", "ray:1", "--t2i-store", "here")
    assert "images: 0 made" in said


def test_pictures_of_a_pipeline_are_those_of_one_process_and_of_several(project):
    looking = ("--t2i-detect-where", "worker")
    stores = {
        "here": (),
        "apart": ("--t2i-executor", "processes:2"),
        "there": (*ON_CPUS, *looking),
    }
    found = []
    for store, how in stores.items():
        status, said = run(
            project, "--t2i-images", "2", "--t2i-batch", "2", "--t2i-store", store, *how,
            model="reference",
        )  # fmt: skip
        assert status in (0, 1, 6), said
        found.append((status, verdicts(project)))
    assert found[0] == found[1] == found[2]
    here, apart, there = (pictures(project / store) for store in stores)
    assert len(here) == 8
    assert here == apart == there


def test_xdist_workers_share_the_actors(project):
    status, said = run(project, *FEW, *ON_CPUS, "-n", "2")
    assert status in (0, 1, 6), said
    assert len(made(project)) == 40
    assert set(made(project).values()) == {1}


def test_options_may_stand_in_the_ini_file(project):
    (project / "pytest.ini").write_text(
        "[pytest]\nt2i_executor = ray:1\nt2i_ray_cpus = 1\nt2i_ray_address = local\n"
    )
    status, said = run(project, *FEW)
    assert status in (0, 1, 6), said
    assert "images: 40 made" in said


def test_a_batch_that_ends_its_actor_is_named_and_the_rest_is_kept(project):
    status, said = run(project, *FEW, *ON_CPUS, model="models:deadly")
    assert status == 4
    assert "were begun 3 times, and each time their actor was lost" in said
    assert "who is a pilot" in said
    assert "INTERNALERROR" not in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--t2i-executor", "ray:0"), "expected ray or ray:N with N from 1 to 4096, got '0'"),
        (("--t2i-ray-cpus", "0"), "--t2i-ray-cpus: expected a whole number from 1 to 4096"),
        (("--t2i-ray-address", "head"), "--t2i-ray-address: expected HOST:PORT, auto or local"),
        (
            ("--t2i-executor", "ray", "--t2i-ray-address", "127.0.0.1:1"),
            "got '127.0.0.1:1': nobody answers there",
        ),
        (
            ("--t2i-executor", "ray", "--t2i-ray-address", "auto"),
            "got 'auto': ConnectionError: Could not find any running Ray instance",
        ),
        (
            ("--t2i-executor", "ray", "--t2i-ray-cpus", "1", "--t2i-device", "cuda"),
            "actors with processors alone have no 'cuda'",
        ),
        (("--t2i-executor", "ray"), "has no GPU, and each actor needs one"),
        (
            ("--t2i-executor", "ray:99", "--t2i-ray-cpus", "1"),
            "99 actors of 1 processor each do not fit: this machine has room for",
        ),
        (
            ("--t2i-executor", "ray", "--t2i-model", "local"),
            "model 'local' cannot be loaded in an actor of Ray",
        ),
        (
            ("--t2i-executor", "ray", "--t2i-ray-cpus", "1", "--t2i-model", "models:elsewhere"),
            "the actors' model 'models:elsewhere' is not the one that this process knows",
        ),
    ],
    ids=" ".join,
)
def test_a_mistake_is_one_message(project, arguments, told, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    status, said = run(project, *FEW, *arguments)
    assert status == 4, said
    assert told in said
    assert "Traceback" not in said


def test_without_ray_the_install_line_is_told(project):
    (project / "ray.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'ray'\", name='ray')"
    )
    status, said = run(project, *FEW, "--t2i-executor", "ray")
    assert status == 4
    assert (
        "needs the package 'ray', which is not installed. Run: pip install pytest-t2i-ray" in said
    )
    # And who asks for nothing of it does not notice.
    status, said = run(project, *FEW)
    assert status in (0, 1, 6), said
