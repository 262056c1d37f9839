"""The papers' tables come out of our functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_t2i import metrics

HERE = Path(__file__).parent / "published"
SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "published"
MODELS = ("sdxl", "sd3", "dreamlike")


def table(name: str) -> list[dict[str, Any]]:
    facts = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return [dict(zip(facts["columns"], row, strict=True)) for row in facts["rows"]]


def counts(scores: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Male and female images, per 100, that give these prompt bias scores."""
    values = np.array(scores)
    return 50 * (1 + values), 50 * (1 - values)


@pytest.mark.parametrize("model", MODELS)
def test_lyu_table_6_from_table_7(model: str) -> None:
    expected = next(row for row in table("lyu_table6") if row["model"] == model)
    rows = table("lyu_table7")
    assert len(rows) == 100
    assert metrics.model_bias_score(*counts([row[model] for row in rows])) == pytest.approx(
        expected["all"], abs=5e-4 + 1e-9
    )
    for axis in ("profession", "personality", "activity", "object", "place"):
        scores = [row[model] for row in rows if row["axis"] == axis]
        # The scores of Table 7 are rounded to two digits: an axis may be off by one in the third.
        assert metrics.model_bias_score(*counts(scores)) == pytest.approx(
            expected[axis], abs=1e-3 + 1e-9
        )


@pytest.mark.parametrize("row", table("lyu_table1"), ids=lambda row: row["detector"])
def test_lyu_table_1_percentages(row: dict[str, Any]) -> None:
    actual = json.loads((HERE / "lyu_table1.json").read_text(encoding="utf-8"))["actual"]
    for model, truth in zip(MODELS, actual, strict=True):
        if row[model] is not None:
            percentages = metrics.percent_deviation(row[model], truth)
            # Scores are printed to three digits; CLIP-Uncertain's 13.80 is 13.79 from those.
            assert percentages == pytest.approx(row[f"{model}_percent"], abs=0.015)


@pytest.mark.parametrize("row", table("lyu_table3"), ids=lambda row: row["detector"])
def test_lyu_table_3_f1(row: dict[str, Any]) -> None:
    result = 100 * metrics.f1_score(row["precision"] / 100, row["recall"] / 100)
    assert result == pytest.approx(row["f1"], abs=0.011)


@pytest.mark.parametrize(
    "row", table("oasis_table1"), ids=lambda r: f"{r['nationality']}-{r['attribute']}"
)
@pytest.mark.parametrize("model", ["sd2", "sd3", "flux"])
def test_oasis_table_1_psi(row: dict[str, Any], model: str) -> None:
    printed = row[f"{model}_psi"]
    if (row["nationality"], row["attribute"], model) == ("Mexican", "Hat", "sd2"):
        assert printed == 22.3, "the known misprint: its own columns give 27.3"
        printed = 27.3
    result = 100 * metrics.stereotype_score(row[f"{model}_p"] / 100, row["real_world"] / 100)
    assert result == pytest.approx(printed, abs=1e-6)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("lyu_table7", "lyu_table7_prompt_bias"), ("oasis_table1", "oasis_table1")],
)
def test_facts_agree_with_the_shared_copy(ours: str, theirs: str) -> None:
    if not SHARED.is_dir():
        pytest.skip(f"no shared test data at {SHARED}")
    first = json.loads((HERE / f"{ours}.json").read_text(encoding="utf-8"))
    second = json.loads((SHARED / f"{theirs}.json").read_text(encoding="utf-8"))
    assert (first["columns"], first["rows"]) == (second["columns"], second["rows"])
