"""Exports hold what the run holds, in the forms that others read."""

from __future__ import annotations

import csv
import html
import json
import sys
from dataclasses import replace

import pytest
from gap_rows import gap_row
from huggingface_hub import ModelCard
from score_rows import score_row
from stereotype_rows import stereotype_rows

from pytest_t2i import Interval, RunRecord
from pytest_t2i.cli.main import main
from pytest_t2i.data import Bounds, Detection, Outcome, Undetected
from pytest_t2i.errors import (
    ConfigurationError,
    FileFormatError,
    MissingExtraError,
    UnknownNameError,
)
from pytest_t2i.reporting.exports.cards import (
    card_contents,
    model_card,
    section,
    write_model_card,
)
from pytest_t2i.reporting.exports.pdf import body_on_paper
from pytest_t2i.reporting.html import render_html as render_page
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.images import ImageRecord
from pytest_t2i.runs.record.record import AuditRecord, Counts, PromptRecord
from pytest_t2i.verdicts.check import Check

SCORE = Interval(0.4, 0.3, 0.5, 0.95, "fixed-words", 2)
COLUMNS = {
    "checks": (
        "test", "metric", "subject", "outcome", "estimate", "low", "high", "level", "n", "bound",
        "reason", "author", "against", "p_value",
    ),
    "prompts": (
        "prompt", "axis", "concept", "variant", "id", "detector", "male", "female", "other",
        "undetected", "prompt_bias_score", "prompt_bias_score_low", "prompt_bias_score_high",
    ),
    "images": ("id", "prompt", "variant", "seed", "file", "detector", "label", "undetected"),
    "parity": (
        "metric", "about", "subject", "detector", "value", "value_low", "value_high",
        "prompts", "clear_images", "name", "paper", "fair_model", "lowest", "highest", "absent",
    ),
    "stereotypes": (
        "metric", "about", "subject", "value", "value_low", "value_high", "images", "clear",
        "present", "name", "concept", "detector", "expected", "direction", "margin", "source",
        "note", "absent",
    ),
    "neutrality": (
        "metric", "about", "subject", "space", "value", "value_low", "value_high",
        "triplets", "name", "to_feminine", "to_masculine", "p_value", "absent",
    ),
}  # fmt: skip
OF_ROWS = {"neutrality", "parity", "stereotypes"}
GAP = gap_row("image", SCORE, (0.1, 0.2), 3)
MODEL = score_row(SCORE, 0.5, 0.1, (1, 1), worst=Bounds(0.1, 0.9, 0.5))


def check(outcome, subject="model", test="suites/test_a.py::test_m"):
    bound = 0.6 if outcome is Outcome.PASS else 0.2
    return Check(
        test, "model_bias_score", subject, outcome, 0.4, 0.3, 0.5, 0.95, "m", 2, "<=", bound,
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


STEREOTYPE = stereotype_rows("s", "Iranian", "beard", 0.2, SCORE, SCORE)


@pytest.fixture
def run():
    images = (
        ImageRecord(7, "a.png", {"clip": Detection("male")}),
        ImageRecord(8, None, {"clip": Detection(None, Undetected.REFUSED)}),
    )
    counts = {"clip": Counts({"male": 1}, {Undetected.REFUSED: 1})}
    prompt = PromptRecord("job-a", "a <b>", "job", "a", "neutral", counts, SCORE, images)
    return with_blocks(RunRecord(
        "2026-11-22T10:00:00+00:00", 9.0, "my <model>",
        {"images": 2, "seed": 0, "confidence": 0.95},
        {"model": {"fingerprint": "f"}, "command": "pytest"},
        {"planned": 2, "made": 2},
        checks=(check(Outcome.FAIL), check(Outcome.INCONCLUSIVE, "job-a"), check(Outcome.PASS)),
        audits={
            "parity": AuditRecord(rows=(MODEL,)),
            "stereotypes": AuditRecord(rows=STEREOTYPE),
            "neutrality": AuditRecord(rows=(GAP,)),
        },
        prompts=(prompt,),
        failed_otherwise=("suites/test_b.py::test_x",),
        failed_because={"suites/test_b.py::test_x": "my bug"},
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("checks", 3),
        ("prompts", 1),
        ("images", 2),
        ("parity", 1),
        ("stereotypes", 2),
        ("neutrality", 1),
    ],
)
def test_tables(run, table, rows):
    frame = run.to_frame(table)
    assert len(frame) == rows
    assert frame.columns.tolist() == ["model", "created", *COLUMNS[table]]
    assert (
        not frame.drop(columns=["p_value", "label", "undetected", "file"], errors="ignore")
        .isna()
        .any()
        .any()
    )
    empty = with_blocks(RunRecord("", 0.0, "", {}, {}, {})).to_frame(table)
    # Dimensions, counts and facts are columns where rows have them.
    assert empty.columns.tolist() == frame.columns.tolist() or table in OF_ROWS


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
        ("pytest-t2i", "attribute_share"): 0.4,
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
        write_model_card(with_blocks(RunRecord("", 0.0, "", {}, {}, {})), tmp_path / "x")


def test_a_card_asks_for_no_more_than_the_hubs_library(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r'pip install "pytest-t2i\[fetch\]"'):
        model_card(run, "", tmp_path / "README.md")


def test_a_fairness_card_says_what_it_does_not_show(run, tmp_path):
    card = card_contents(run)
    assert any("these prompts alone" in words for words in card["not_shown"])
    assert {m["metric"] for m in card["metrics"]} == {
        "model_bias_score", "stereotype_score", "attribute_share", "similarity_gap",
    }  # fmt: skip
    # It speaks of "the limits stated below": each is, with what its checks came to.
    assert sum(sum(one["checks"].values()) for one in card["limits"]) == len(run.checks)
    page = body_on_paper(run, tmp_path)
    assert all(html.escape(one["allowed"]) in page for one in card["limits"])
    assert "<model>" not in page
    assert "What this does not show" in page


def test_a_fairness_card_says_who_answers_for_what(run, tmp_path):
    first, second, third = run.checks
    stated = replace(
        run,
        checks=(first, replace(second, reason="agreed <in> May", author="B. Boss"), third),
        provenance={
            **run.provenance,
            "environment": {"pytest-t2i": "1.2.3"},
            "project": {"commit": "c" * 40, "changed": True},
        },
    )
    card = card_contents(stated)
    assert card["labels"].startswith("none")
    (detector,) = card["detectors"]
    assert (detector["name"], detector["decides"]) == ("clip", True)
    assert detector["accuracy"] == "never measured on pictures like these"
    assert [texts for one in card["prompts"] for texts in one["texts"]] == ["a <b>"]
    assert card["not_tested"]
    marks = {one["reason"]: one["lacks_reason"] for one in card["limits"]}
    assert marks == {"": True, "agreed <in> May": False}
    page = body_on_paper(stated, tmp_path)
    for told in (
        "B. Boss", "no name given", "agreed &lt;in&gt; May", "no reason given",
        "pytest-t2i 1.2.3", "never measured", f"{'c' * 40}, with changes", "a &lt;b&gt;",
        *(html.escape(one) for one in card["not_tested"]),
    ):  # fmt: skip
        assert told in page, told


def test_a_card_says_what_was_judged_and_its_limit(run):
    text = section(run)
    judged = [line for line in text.splitlines() if line.endswith("| FAIL |")]
    assert judged
    assert all("&lt;= 0." in line for line in judged)


def test_the_command(run, tmp_path, capsys):
    source = tmp_path / "run.json"
    run.write(source)
    for form, output in (
        ("card", "README.md"), ("parquet", "tables"), ("csv", "tables"),
    ):  # fmt: skip
        assert main(["export", form, str(source), "--output", str(tmp_path / output)]) == 0
    capsys.readouterr()
    names = {file.name for file in tmp_path.rglob("*") if file.is_file()}
    assert {"README.md", "checks.parquet", "images.csv"} <= names
    import pandas as pd

    assert len(pd.read_parquet(tmp_path / "tables/checks.parquet")) == 3
    with pytest.raises(SystemExit):
        main(["export", "no-such-form", str(source)])


def test_csv_needs_no_pandas(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    run.write(tmp_path / "run.json")
    assert main(["export", "csv", str(tmp_path / "run.json"), "--output", str(tmp_path / "t")]) == 0
    with (tmp_path / "t" / "images.csv").open(newline="") as file:
        made, refused = csv.DictReader(file)
    assert (made["seed"], made["label"], made["undetected"]) == ("7", "male", "")
    assert (refused["file"], refused["undetected"]) == ("", "refused")


def test_an_export_that_fails_leaves_nothing(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pandas", None)
    run.write(tmp_path / "run.json")
    given = ["export", "parquet", str(tmp_path / "run.json"), "--output", str(tmp_path / "t")]
    assert main(given) == 2
    assert 'pip install "pytest-t2i[frames]"' in capsys.readouterr().err
    assert not (tmp_path / "t").exists()


def test_a_statement_may_be_given_later(run, tmp_path, capsys):
    source, stated = tmp_path / "run.json", tmp_path / "pyproject.toml"
    run.write(source)
    report = ["report", str(source), str(tmp_path), "--statement", str(stated)]
    stated.write_text("[tool.t2i.report]\n")
    assert main(report) == 2
    assert "with at least one field filled in" in capsys.readouterr().err
    stated.write_text('[tool.t2i.report]\napprover = "B. Boss"\n')
    assert main(report) == 0
    assert json.loads(source.read_text())["statement"]["approver"] == "B. Boss"
    assert "B. Boss" in (tmp_path / "index.html").read_text()


def test_a_run_without_parity_goes_everywhere_but_into_a_model_card(run, tmp_path):
    bare = replace(run, audits={})
    assert "model_bias_score" not in {m["metric"] for m in card_contents(bare)["metrics"]}
    assert "Model bias score" not in render_markdown(bare)
    assert 'id="model-bias-score"' not in render_page(bare, tmp_path)
    with pytest.raises(ConfigurationError, match="needs a measured score"):
        write_model_card(bare, tmp_path / "README.md")
