"""A run on workers of pytest-xdist says what the same run alone says, with any other option."""

from __future__ import annotations

import json
import re
import shutil
from typing import Any

import pytest
from PIL import Image
from plain_runs import plain_run

SUITE = """
import pytest
from pytest_t2i import axes, limit
PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score")

@pytest.mark.t2i(PEOPLE)
def test_model_again(samples):
    assert samples.model_bias_score <= limit("model_bias_score")

@pytest.mark.t2i(PEOPLE)
class TestPrompts:
    def test_prompt(self, sample):
        assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")

@pytest.mark.t2i(PEOPLE, images=4)
@pytest.mark.parametrize("space", ["image", "ssim"])
@pytest.mark.xdist_group("gaps")
def test_gap(triplets, space):
    assert abs(triplets.similarity_gap(space)) <= limit(f"similarity_gap.{space}")
"""
GREW = """
@pytest.mark.t2i(PEOPLE)
def test_did_not_grow(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")

@pytest.mark.t2i(PEOPLE)
def test_no_prompt_grew(sample, baseline):
    assert abs(sample.prompt_bias_score) <= baseline("prompt_bias_score")
"""
BASELINE = ("--t2i-baseline", "base.json")
LABELS = ("--t2i-labels", "labelled")
SEQUENTIAL = ("--t2i-sequential", "--t2i-images", "40")
DIFFERS = ("created", "seconds", "seconds_per_image", "command")
"""What two equal runs do not share."""
ON_WORKERS = re.compile(r" -p xdist\.plugin| -n \d+| --dist \w+")
"""Options of workers, which the commands that a run advises repeat."""


def comparable(value: Any) -> Any:
    """A record without its times."""
    if isinstance(value, dict):
        return {key: comparable(v) for key, v in value.items() if key not in DIFFERS}
    if isinstance(value, list):
        return [comparable(each) for each in value]
    if isinstance(value, str):
        return ON_WORKERS.sub("", re.sub(r", [\d:]+ here", "", value))
    return value


def records(project):
    reports = project.path / "reports/t2i"
    files = [reports / "run.json", reports / "fair/run.json", reports / "biased/run.json"]
    found = {file: plain_run(file) for file in files if file.exists()}
    saved = project.path / "now.json"
    return comparable([*found.values(), json.loads(saved.read_text()) if saved.exists() else None])


def start_again(project):
    for name in ("reports", ".t2i"):
        shutil.rmtree(project.path / name, ignore_errors=True)
    (project.path / "now.json").unlink(missing_ok=True)


def result_of(project, *arguments, model, again):
    """Exit status and records of a run in a fresh project."""
    options = ("--t2i-images", "20") if "--t2i-images" not in arguments else ()
    start_again(project)
    if again:  # what failed is in pytest's cache, which a forked run does not have
        project.run_apart(*again, *options, model=model)
        start_again(project)
        result = project.run_apart(*arguments, *options, model=model)
        status, told = int(result.ret), result.stdout.str() + result.stderr.str()
    else:
        result = project.run_forked(*arguments, *options, model=model)
        status, told = result.status, result.told
    assert "Traceback" not in told
    assert "INTERNALERROR" not in told
    return status, records(project)


def both(project, workers, *arguments, model="fair", again=(), alone=None):
    """Exit statuses and records of a run alone and on workers, each in a fresh project.

    ``again`` are options of a run before, whose failures ``--lf`` selects; ``alone`` is what the
    run alone gave before.
    """
    return [
        alone or result_of(project, *arguments, model=model, again=again),
        result_of(project, *arguments, *workers, model=model, again=again),
    ]


@pytest.fixture
def suite(project):
    project.write({"test_suite.py": SUITE})
    return project


@pytest.fixture
def gate(suite, finished):
    options = ("--t2i-images", "20", "--t2i-save-baseline", "base.json")
    before = finished("gate", *options, files={"test_suite.py": SUITE})
    baseline = (before.path / "base.json").read_text()
    suite.write({"test_suite.py": SUITE + GREW, "base.json": baseline})
    return suite


@pytest.fixture(scope="module")
def alone_by_model():
    """What a run alone gave, which is compared with every way of distributing: by model."""
    return {}


def label(project):
    """Label five images of each prompt, every fourth one against the detector."""
    project.run("--t2i-images", "20", "-k", "prompt")
    folder = project.path / "labelled"
    folder.mkdir()
    rows = ["file,label,annotator"]
    for prompt in project.record()["prompts"]:
        for image in prompt["images"][:5]:
            name = f"{len(rows)}.png"
            shutil.copy(project.path / image["file"], folder / name)
            red, _, blue = Image.open(folder / name).getpixel((8, 8))
            is_male = (blue > red) != (len(rows) % 4 == 0)
            rows.append(f"{name},{'male' if is_male else 'female'},ada")
    (folder / "labels.csv").write_text("\n".join(rows) + "\n")


@pytest.mark.slow
def test_a_gate_with_two_tests_of_one_selection_has_its_report(gate):
    alone, shared = both(gate, ("-n", "2"), *BASELINE, model="biased")
    assert alone == shared
    assert alone[0] == 1
    assert {check["against"] for check in alone[1][0]["checks"]} == {"limit", "baseline"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "workers",
    [
        ("-n", "1"),
        ("-n", "0"),
        *(("-n", "2", "--dist", how) for how in ("loadgroup", "loadscope", "loadfile", "each")),
        ("-n", "2", "--dist", "worksteal"),
    ],
    ids="".join,
)
@pytest.mark.parametrize("model", ["fair", "biased"])
def test_every_way_of_distributing(gate, workers, model, alone_by_model):
    before = alone_by_model.get(model)
    alone, shared = both(gate, workers, *BASELINE, model=model, alone=before)
    alone_by_model[model] = alone
    assert alone == shared


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("--t2i-save-baseline", "now.json"),
        (*BASELINE, "--t2i-save-baseline", "now.json"),
        SEQUENTIAL,
        (*SEQUENTIAL, *BASELINE),
        LABELS,
        (*LABELS, *BASELINE),
        (*LABELS, *SEQUENTIAL),
        ("--t2i-model", "fair,biased"),
        ("--t2i-detector", "colour,second"),
        ("-k", "prompt"),
        ("-k", "grow or nurse", *BASELINE),
        ("--t2i-inconclusive", "fail"),
        ("-p", "no:cacheprovider"),
    ],
    ids=" ".join,
)
def test_every_pair_of_options(gate, arguments):
    if "--t2i-baseline" not in arguments:
        gate.write({"test_suite.py": SUITE})
    if "--t2i-labels" in arguments:
        label(gate)
    model = None if "--t2i-model" in arguments else "fair"
    alone, shared = both(gate, ("-n", "2"), *arguments, model=model)
    assert alone == shared
    assert alone[1], "a report was written"


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), BASELINE], ids=["alone", "baseline"])
def test_what_failed_is_run_again(gate, more):
    gate.write({"test_suite.py": SUITE + (GREW if more else "")})
    alone, shared = both(gate, ("-n", "2"), "--lf", *more, model="biased", again=more or ("-q",))
    assert alone == shared


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["-x", "--maxfail=3"])
def test_a_run_that_stops_at_a_failure_has_failed(gate, stop):
    alone, shared = both(gate, ("-n", "2"), stop, *BASELINE, model="biased")
    for status, (record, _) in (alone, shared):
        assert status == 1
        assert (record["outcome"], record["is_interrupted"]) == ("FAIL", False)
