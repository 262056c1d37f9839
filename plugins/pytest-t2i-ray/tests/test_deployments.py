"""The manifest and the script of examples/cluster are what they say, as far as can be seen here."""

from __future__ import annotations

import copy
import json
import shlex
import subprocess
from pathlib import Path

import jsonschema
import pytest
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
