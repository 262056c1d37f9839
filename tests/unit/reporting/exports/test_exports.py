"""Exports hold what the run holds, in the forms that others read."""

from __future__ import annotations

import csv
import html
import json
import sys
from dataclasses import replace

import jsonschema
import pytest
from huggingface_hub import ModelCard

from pytest_t2i import Interval, RunRecord
from pytest_t2i.audits.neutrality import GapRecord, NeutralityPart
from pytest_t2i.audits.parity.record import ModelScoreRecord, ParityPart
from pytest_t2i.audits.stereotypes.report import StereotypeRecord, StereotypesPart
from pytest_t2i.cli.main import main
from pytest_t2i.data import Detection, Outcome, Undetected
from pytest_t2i.errors import (
    ConfigurationError,
    FileFormatError,
    MissingExtraError,
    UnknownNameError,
)
from pytest_t2i.reporting.exports.cards import (
    card_page,
    fairness_card,
    model_card,
    section,
    write_model_card,
)
from pytest_t2i.reporting.exports.mlflow import log_to_mlflow, metrics_of
from pytest_t2i.reporting.exports.sarif import sarif
from pytest_t2i.reporting.html import render_html as render_page
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.runs.record import AuditRecord, Counts, ImageRecord, PromptRecord
from pytest_t2i.runs.statement import Statement
from pytest_t2i.verdicts.check import Check

SCORE = Interval(0.4, 0.3, 0.5, 0.95, "fixed-words", 2)
COLUMNS = {
    "checks": (
        "test", "metric", "subject", "outcome", "estimate", "low", "high", "level", "n", "bound",
        "reason", "author", "against", "p_value", "lean",
    ),
    "prompts": (
        "prompt", "axis", "concept", "variant", "id", "detector", "male", "female", "other",
        "undetected", "prompt_bias_score", "prompt_bias_score_low", "prompt_bias_score_high",
    ),
    "images": ("id", "prompt", "variant", "seed", "file", "detector", "label", "undetected"),
    "scores": (
        "set", "detector", "prompts", "clear_images", "fair_model",
        "corrected", "corrected_low", "corrected_high", "paper",
    ),
    "stereotypes": (
        "id", "concept", "attribute", "expected", "share", "share_low", "share_high",
        "stereotype_score", "stereotype_score_low", "stereotype_score_high",
    ),
    "gaps": (
        "space", "set", "triplets", "to_feminine", "to_masculine", "gap", "gap_low", "gap_high",
    ),
}  # fmt: skip
GAP = GapRecord("image", "model", SCORE, 0.1, 0.2, 3)
MODEL = ModelScoreRecord("model", "clip", SCORE, 0.5, 0.1, 1, 1)


def check(outcome, subject="model", test="suites/test_a.py::test_m"):
    return Check(
        test, "model_bias_score", subject, outcome, 0.4, 0.3, 0.5, 0.95, "m", 2, "<=", 0.2,
        message="0.400 lies beyond <b>", is_of_model=subject == "model",
    )  # fmt: skip


CARD = """---
license: mit
model-index:
- name: mine
  results:
  - task:
      type: text-to-image
    dataset:
      type: coco
      name: COCO
    metrics:
    - type: fid
      value: 9
---
# Mine

my own words
"""


STEREOTYPE = StereotypeRecord("s", "Iranian", "beard", "clip", 0.2, SCORE, SCORE, "")


@pytest.fixture
def run():
    images = (
        ImageRecord(7, "a.png", {"clip": Detection("male")}),
        ImageRecord(8, None, {"clip": Detection(None, Undetected.REFUSED)}),
    )
    counts = {"clip": Counts({"male": 1}, {Undetected.REFUSED: 1})}
    prompt = PromptRecord("job-a", "a <b>", "job", "a", "neutral", counts, SCORE, images)
    return RunRecord(
        "2026-11-22T10:00:00+00:00", 9.0, "my <model>",
        {"images": 2, "seed": 0, "confidence": 0.95},
        {"model": {"fingerprint": "f"}, "command": "pytest"},
        {"planned": 2, "made": 2},
        checks=(check(Outcome.FAIL), check(Outcome.INCONCLUSIVE, "job-a"), check(Outcome.PASS)),
        audits={
            "parity": AuditRecord(1, ParityPart((MODEL,))),
            "stereotypes": AuditRecord(1, StereotypesPart((STEREOTYPE,))),
            "neutrality": AuditRecord(1, NeutralityPart((GAP,))),
        },
        prompts=(prompt,),
        failed_otherwise=("suites/test_b.py::test_x",),
        failed_because={"suites/test_b.py::test_x": "my bug"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("table", "rows"),
    [("checks", 3), ("prompts", 1), ("images", 2), ("scores", 1), ("stereotypes", 1), ("gaps", 1)],
)
def test_tables(run, table, rows):
    frame = run.to_frame(table)
    assert len(frame) == rows
    assert frame.columns.tolist() == ["model", "created", *COLUMNS[table]]
    assert (
        not frame.drop(columns=["lean", "p_value", "label", "undetected", "file"], errors="ignore")
        .isna()
        .any()
        .any()
    )
    empty = RunRecord("", 0.0, "", {}, {}, {}).to_frame(table)
    assert empty.columns.tolist() == frame.columns.tolist()


def test_an_unknown_table(run):
    with pytest.raises(UnknownNameError, match="Did you mean 'prompts'"):
        run.to_frame("prompt")


def test_a_card_carries_results_in_the_hubs_form(run, tmp_path):
    file = tmp_path / "README.md"
    file.write_text(CARD)
    for _ in range(2):  # the second run replaces what the first wrote
        write_model_card(run, file)
    card = ModelCard.load(file)
    results = {(r.dataset_type, r.metric_type): r.metric_value for r in card.data.eval_results}
    assert results == {
        ("coco", "fid"): 9,
        ("pytest-t2i", "model_bias_score"): 0.4,
        ("pytest-t2i", "stereotype_score"): 0.4,
        ("pytest-t2i", "similarity_gap"): 0.4,
    }
    names = [result.dataset_name for result in card.data.eval_results]
    assert len(set(names)) > 2  # each set of prompts keeps its own name
    assert card.data.license == "mit"
    assert "my own words" in card.text
    assert card.text.count("## Fairness: FAIL") == 1
    assert "What this does not show" in card.text


def test_a_new_card_is_written_without_a_warning(run, tmp_path, caplog):
    write_model_card(run, tmp_path / "README.md")
    assert not caplog.records


def test_a_new_card_and_a_broken_one(run, tmp_path):
    assert model_card(run, "", tmp_path / "x").count("# my &lt;model&gt;") == 1
    with pytest.raises(FileFormatError, match="its metadata cannot be read"):
        model_card(run, "---\n- a list\n---\ntext", tmp_path / "x")
    with pytest.raises(ConfigurationError, match="needs a measured score"):
        write_model_card(RunRecord("", 0.0, "", {}, {}, {}), tmp_path / "x")


def test_a_card_asks_for_no_more_than_the_hubs_library(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r'pip install "pytest-t2i\[fetch\]"'):
        model_card(run, "", tmp_path / "README.md")


def test_a_fairness_card_says_what_it_does_not_show(run):
    card = fairness_card(run, ("A. Auditor",))
    assert card["authors"] == [{"name": "A. Auditor"}]
    assert card["refusals"]["counts"] == {"clip": {"refused": 1}}
    assert any("these prompts alone" in words for words in card["fairness_scope"]["excluded"])
    assert {m["metric"] for m in card["metrics"]} == {
        "model_bias_score", "stereotype_score", "similarity_gap",
    }  # fmt: skip
    json.dumps(card, allow_nan=False)
    # It speaks of "the limits stated below": each is, with what its checks came to.
    limits = card["verdict"]["limits"]
    assert sum(sum(one["checks"].values()) for one in limits) == len(run.checks)
    page = card_page(card)
    assert all(html.escape(one["allowed"]) in page for one in limits)
    assert "<model>" not in page
    assert "What this does not show" in page


def test_a_fairness_card_says_who_answers_for_what(run):
    first, second, third = run.checks
    stated = replace(
        run,
        statement=Statement(auditor="A. Auditor", intended_use="stock pictures"),
        checks=(first, replace(second, reason="agreed <in> May", author="B. Boss"), third),
        provenance={
            **run.provenance,
            "environment": {"pytest-t2i": "1.2.3"},
            "project": {"commit": "c" * 40, "changed": True},
        },
    )
    card = fairness_card(stated, ())
    assert card["authors"] == [{"name": "A. Auditor"}]
    assert card["statement"]["approver"] == ""
    assert card["tool"] == {"name": "pytest-t2i", "version": "1.2.3"}
    assert card["commit"].startswith("c" * 40 + ", with changes")
    assert card["labels"].startswith("none")
    (detector,) = card["detectors"]
    assert (detector["name"], detector["decides"]) == ("clip", True)
    assert detector["accuracy"] == "never measured on pictures like these"
    assert [texts for one in card["prompt_suite"] for texts in one["texts"]] == ["a <b>"]
    assert card["fairness_scope"]["not_tested"]
    marks = {one["reason"]: one["lacks_reason"] for one in card["verdict"]["limits"]}
    assert marks == {"": True, "agreed <in> May": False}
    page = card_page(card)
    for told in (
        "stock pictures", "not stated", "B. Boss", "no name given", "agreed &lt;in&gt; May",
        "no reason given", "pytest-t2i 1.2.3", "never measured", card["commit"], "a &lt;b&gt;",
        *(html.escape(one) for one in card["fairness_scope"]["not_tested"]),
    ):  # fmt: skip
        assert told in page, told


def test_authors_that_are_given_stand_in_place_of_the_auditor(run):
    stated = replace(run, statement=Statement(auditor="A"))
    assert fairness_card(stated, ("B", "C"))["authors"] == [{"name": "B"}, {"name": "C"}]


MINIMAL = {
    "type": "object",
    "required": ["version", "runs", "$schema"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "required": ["tool", "results"],
                "properties": {
                    "results": {
                        "items": {
                            "required": ["message", "level", "locations"],
                            "properties": {"level": {"enum": ["error", "warning", "note", "none"]}},
                        }
                    }
                },
            },
        },
    },
}
"""The parts of the SARIF 2.1.0 schema that a reader of results needs."""


def test_sarif_describes_every_rule_as_github_asks(run):
    failed = replace(run, failed_otherwise=("t.py::a",), failed_because={})
    (part,) = sarif(failed)["runs"]
    rules = {rule["id"]: rule for rule in part["tool"]["driver"]["rules"]}
    assert set(rules) >= {result["ruleId"] for result in part["results"]} >= {"test-failed"}
    for rule in rules.values():
        for field in ("shortDescription", "fullDescription", "help"):
            assert rule[field]["text"]


def test_sarif_has_what_failed_and_where(run):
    log = sarif(run)
    jsonschema.validate(log, MINIMAL)
    results = log["runs"][0]["results"]
    assert [(r["ruleId"], r["level"]) for r in results] == [
        ("model_bias_score", "error"),
        ("test-failed", "error"),
    ]
    place = results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "suites/test_a.py"
    assert results[1]["message"]["text"] == "my bug"
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert rules[results[0]["ruleIndex"]]["id"] == "model_bias_score"


def test_a_card_says_what_was_judged_and_its_limit(run):
    text = section(run)
    judged = [line for line in text.splitlines() if line.endswith("| FAIL |")]
    assert judged
    assert all("&lt;= 0." in line for line in judged)


def test_numbers_for_mlflow(run):
    numbers = metrics_of(run)
    assert numbers["model_bias_score/model/low"] == 0.3
    assert numbers["checks/FAIL"] == 1.0


@pytest.mark.slow
def test_mlflow_takes_a_run(run, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    store = (tmp_path / "mlruns").as_uri()
    (tmp_path / "run.json").write_text(run.to_json())
    id_ = log_to_mlflow(run, tmp_path, "fairness", store)
    logged = mlflow.MlflowClient(tracking_uri=store).get_run(id_)
    assert logged.data.metrics["model_bias_score/model/estimate"] == 0.4
    assert logged.data.params["model"] == "my <model>"


def test_the_command(run, tmp_path, capsys):
    source = tmp_path / "run.json"
    source.write_text(run.to_json())
    for form, output in (
        ("card", "README.md"), ("fairness-card", "card"), ("sarif", "x.sarif"),
        ("parquet", "tables"), ("csv", "tables"),
    ):  # fmt: skip
        assert main(["export", form, str(source), "--output", str(tmp_path / output)]) == 0
    capsys.readouterr()
    names = {file.name for file in tmp_path.rglob("*") if file.is_file()}
    assert {"README.md", "fairness-card.json", "fairness-card.html", "x.sarif"} <= names
    assert {"checks.parquet", "images.csv"} <= names
    import pandas as pd

    assert len(pd.read_parquet(tmp_path / "tables/checks.parquet")) == 3
    with pytest.raises(SystemExit):
        main(["export", "no-such-form", str(source)])


def test_csv_needs_no_pandas(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    (tmp_path / "run.json").write_text(run.to_json())
    assert main(["export", "csv", str(tmp_path / "run.json"), "--output", str(tmp_path / "t")]) == 0
    with (tmp_path / "t" / "images.csv").open(newline="") as file:
        made, refused = csv.DictReader(file)
    assert (made["seed"], made["label"], made["undetected"]) == ("7", "male", "")
    assert (refused["file"], refused["undetected"]) == ("", "refused")


def test_an_export_that_fails_leaves_nothing(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pandas", None)
    (tmp_path / "run.json").write_text(run.to_json())
    given = ["export", "parquet", str(tmp_path / "run.json"), "--output", str(tmp_path / "t")]
    assert main(given) == 2
    assert 'pip install "pytest-t2i[frames]"' in capsys.readouterr().err
    assert not (tmp_path / "t").exists()


def test_a_statement_may_be_given_later(run, tmp_path, capsys):
    source, stated = tmp_path / "run.json", tmp_path / "pyproject.toml"
    source.write_text(run.to_json())
    card = ["export", "fairness-card", str(source), "--output", str(tmp_path)]
    stated.write_text("[tool.t2i.report]\n")
    assert main([*card, "--statement", str(stated)]) == 2
    assert "with at least one field filled in" in capsys.readouterr().err
    stated.write_text('[tool.t2i.report]\napprover = "B. Boss"\n')
    assert main([*card, "--statement", str(stated)]) == 0
    assert "B. Boss" in (tmp_path / "fairness-card.html").read_text()
    assert main(["report", str(source), str(tmp_path), "--statement", str(stated)]) == 0
    assert json.loads(source.read_text())["statement"]["approver"] == "B. Boss"
    assert "B. Boss" in (tmp_path / "index.html").read_text()


def test_a_run_without_parity_goes_everywhere_but_into_a_model_card(run, tmp_path):
    bare = replace(run, audits={})
    assert not [name for name in metrics_of(bare) if name.startswith("model_bias_score")]
    card = fairness_card(bare, ())
    assert "model_bias_score" not in {metric["metric"] for metric in card["metrics"]}
    assert "Model bias score" not in render_markdown(bare)
    assert 'id="model-bias-score"' not in render_page(bare, tmp_path)
    with pytest.raises(ConfigurationError, match="needs a measured score"):
        write_model_card(bare, tmp_path / "README.md")
