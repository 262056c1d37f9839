"""The notebook's cells run, and end with what its words say."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorials" / "notebook.ipynb"


def cells():
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(c["source"]) for c in content["cells"] if c["cell_type"] == "code"]


def shown(source, names):
    """The value of a cell's last expression, as a notebook shows it."""
    *before, last = ast.parse(source).body
    exec(compile(ast.Module(before, []), "cell", "exec"), names)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    exec(compile(ast.Module([last], []), "cell", "exec"), names)
    return None


def test_it_runs(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names = {}
    values = [shown(source, names) for source in cells()]
    score, verdict, singly, table, frame, audit = values[2:]
    assert 0.3 < score.interval.estimate < 0.7
    assert verdict == "FAIL"
    assert {outcome for _, outcome in singly} == {"PASS"}
    assert table["group_distance_low"].between(0, 1).all()
    assert len(table) == 4
    assert list(frame.columns) == ["concept", "male", "female"]
    assert "fairness report" in audit._repr_html_()


def test_it_is_kept_without_output():
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
