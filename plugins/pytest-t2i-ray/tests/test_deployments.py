"""The manifest and the script of examples/cluster are what they say, as far as can be seen here."""

from __future__ import annotations

import copy
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
import ray_project
import yaml

from pytest_t2i_ray import asked

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[2] / "examples" / "cluster"
SCHEMA = json.loads((HERE / "schemas" / "rayjob.schema.json").read_text())
OPTIONS = ("--t2i-executor", "--t2i-ray-address")


@pytest.fixture
def job():
    return yaml.safe_load((EXAMPLES / "rayjob.yaml").read_text())


def test_the_manifest_is_a_rayjob(job):
    jsonschema.Draft202012Validator(SCHEMA).validate(job)
    words = shlex.split(job["spec"]["entrypoint"])
    assert words[0] == "pytest"
    given = {name: words[words.index(name) + 1] for name in OPTIONS}
    assert given["--t2i-executor"] == "ray"
    assert asked.address("--t2i-ray-address", given["--t2i-ray-address"]) == "auto"
    mounted = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    names = {volume["name"] for volume in mounted["volumes"]}
    assert {mount["name"] for mount in mounted["containers"][0]["volumeMounts"]} == names


def _misspell(job):
    job["spec"]["shutDownAfterJobFinishes"] = job["spec"].pop("shutdownAfterJobFinishes")


def _number(job):
    job["spec"]["rayClusterSpec"]["headGroupSpec"]["rayStartParams"] = {"num-cpus": 0}


def _without(job):
    del job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["minReplicas"]


@pytest.mark.parametrize("spoil", [_misspell, _number, _without])
def test_the_schema_refuses_mistakes(job, spoil):
    spoiled = copy.deepcopy(job)
    spoil(spoiled)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(spoiled)


def test_the_slurm_script_is_a_script():
    script = EXAMPLES / "ray.slurm"
    checked = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    text = script.read_text()
    assert "RAY_USAGE_STATS_ENABLED=0" in text
    assert all(option in text for option in OPTIONS)


class OnThisMachine:
    """The cluster of a manifest: each pod is a raylet of this machine with its resources."""

    def __init__(self, spec):
        from ray.cluster_utils import Cluster

        pods = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
        of_head, *of_workers = ({**self.resources(pod)} for pod in pods)
        self.cluster = Cluster(
            initialize_head=True, head_node_args={**of_head, "include_dashboard": False}
        )
        (group,) = of_workers
        self.workers = [self.cluster.add_node(**group) for _ in range(2)]

    @staticmethod
    def resources(pod):
        limits = pod["template"]["spec"]["containers"][0]["resources"]["limits"]
        return {"num_cpus": int(limits["cpu"]), "num_gpus": int(limits["nvidia.com/gpu"])}

    def lose_one(self):
        self.cluster.remove_node(self.workers.pop(), allow_graceful=False)


@pytest.mark.slow
def test_the_manifest_runs_and_a_lost_node_loses_nothing(job, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    folder = ray_project.write(tmp_path / "project")
    words = shlex.split(job["spec"]["entrypoint"])
    own = {
        "pytest": [sys.executable, "-m", "pytest", *ray_project.PLAIN, "--t2i-images", "60"],
        "sdxl": ["models:slow"], "/data/store": ["store"], "/data/reports": ["reports/t2i"],
        "/suites/parity": ["test_people.py"],
    }  # fmt: skip
    command = [new for word in words for new in own.get(word, [word])]
    assert set(own) <= set(words)
    place = OnThisMachine(job["spec"]["rayClusterSpec"])
    told = (tmp_path / "told.txt").open("w+")
    try:
        command[command.index("auto")] = place.cluster.address
        run = subprocess.Popen(
            command, cwd=folder, env=ray_project.environment(folder, SLOW="0.1"), stdout=told,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        ends = time.monotonic() + 200
        while len(ray_project.made(folder)) < 20 and run.poll() is None and time.monotonic() < ends:
            time.sleep(0.2)
        assert run.poll() is None
        place.lose_one()
        assert run.wait(max(1.0, ends - time.monotonic())) in (0, 1, 6), told.seek(0) or told.read()
    finally:
        told.close()
        place.cluster.shutdown()
    assert len(ray_project.pictures(folder / "store")) == 4 * 60
    assert len(ray_project.verdicts(folder)) == 5
