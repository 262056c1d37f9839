"""``suites/objects`` and ``suites/dependencies``, as users run them.

They never fail the balanced pipeline, and name what is planted in the biased one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_t2i_reference.worlds import World, load_concepts, load_world

if find_spec("ultralytics") is None or find_spec("diffusers") is None:  # not imported here: slow, and not needed
    pytest.skip("needs ultralytics and diffusers", allow_module_level=True)

pytestmark = pytest.mark.slow

SUITES = Path(__file__).parents[3] / "suites"
BIASED = load_world("biased")
UNEVEN = 0.05
"""Adjusted p-value up to which an object does not come with both genders alike."""
Run = tuple[int, str, Mapping[str, Any]]


@pytest.fixture(scope="module")
def run_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Exit status, output and record of a suite for a pipeline, made once; pictures are, too."""
    made: dict[tuple[str, str], Run] = {}
    store = tmp_path_factory.mktemp("store")

    def run(model: str, suite: str = "objects") -> Run:
        if (model, suite) not in made:
            folder = tmp_path_factory.mktemp(model)
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-p",
                "no:cacheprovider",
                "--t2i-objects=auto",
                str(SUITES / suite),
            ]
            options = [f"--t2i-model={model}", f"--t2i-report={folder}", f"--t2i-store={store}"]
            done = subprocess.run([*command, *options], cwd=SUITES, capture_output=True, text=True, check=False)
            record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
            made[model, suite] = done.returncode, done.stdout, record
        return made[model, suite]

    return run


def objects_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the objects of a run."""
    return [row for row in record["audits"]["objects"]["rows"] if row["about"] == "object"]


def planted_score(world: World, name: str) -> float:
    """Object bias score over the words that the suite asks for, those that are drawn with the object included."""
    words = [concept for concept in load_concepts() if concept.axis in ("profession", "place")]
    women, men = (sum(world.held_share(concept, name, gender) for concept in words) for gender in ("woman", "man"))
    return men / (men + women)


def test_the_balanced_pipeline_never_fails(run_of: Callable[..., Run]) -> None:
    status, said, record = run_of("reference")
    # Fifty triplets leave the gap of co-occurrence open, and objects that a tenth of them show.
    assert status in (0, 6), said
    assert {check["metric"] for check in record["checks"]} == {"object_bias_score", "cooccurrence_gap"}
    assert not set(BIASED.held) & {row["facts"]["name"] for row in objects_of(record)}


def test_the_biased_pipeline_fails_and_the_planted_objects_are_named(run_of: Callable[..., Run]) -> None:
    status, said, record = run_of("reference-biased")
    assert status == 1, said
    assert "FAILED" in said
    judged = [row["facts"] for row in objects_of(record) if not row["facts"]["expected"]]
    assert {facts["name"] for facts in judged if facts["p_value"] <= UNEVEN} == set(BIASED.held)
    (failure,) = (check for check in record["checks"] if check["metric"] == "object_bias_score")
    assert failure["outcome"] == "FAIL"
    assert all(f"{name} " in said for name in BIASED.held)


@pytest.mark.parametrize("name", BIASED.held)
def test_scores_lie_within_their_intervals_of_the_planted_ones(name: str, run_of: Callable[..., Run]) -> None:
    _, _, record = run_of("reference-biased")
    (score,) = (row["value"] for row in objects_of(record) if row["facts"]["name"] == name)
    assert score["low"] <= planted_score(BIASED, name) <= score["high"]


def test_what_prompts_name_is_decided_and_what_is_planted_lies_beyond(run_of: Callable[..., Run]) -> None:
    fair, biased = (run_of(model, "dependencies") for model in ("reference", "reference-biased"))
    # Fifty triplets, of which few show an object that is left open, do not decide on it.
    for status, said, record in (fair, biased):
        assert (status, [check["outcome"] for check in record["checks"]]) == (6, ["PASS", "INCONCLUSIVE"]), said
    assert biased[2]["checks"][1]["estimate"] > 0.9
    rows = [row for row in biased[2]["audits"]["dependencies"]["rows"] if row["metric"] == "object_bias_score"]
    beyond = {
        row["facts"]["name"] for row in rows if row["about"] == "object" and abs(row["value"]["estimate"] - 0.5) > 0.4
    }
    assert set(BIASED.held) <= beyond
