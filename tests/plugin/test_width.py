"""COLUMNS is respected."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("columns", [60, pytest.param(100, marks=pytest.mark.slow)])
def test_the_summary_fits_the_terminal(project, columns):
    project.columns = columns
    result = project.run(model="biased")
    lines = result.stdout.lines
    start = next(k for k, line in enumerate(lines) if "fairness of biased" in line)
    end = next(k for k, line in enumerate(lines) if line.startswith("report: "))
    assert max(map(len, lines[start:end])) <= columns
    header = next(k for k, line in enumerate(lines) if line.startswith("t2i: model biased"))
    assert lines[header].endswith(",") or "store" in lines[header]
    assert len(lines[header]) <= columns


@pytest.mark.parametrize(
    ("model", "images"),
    [pytest.param("fair", "40", marks=pytest.mark.slow), ("biased", "20"), ("fair", "4")],
)
def test_the_summary_answers_within_ten_lines_of_80_columns(project, model, images):
    """Fair or not first, then what is worst, then what to do next."""
    project.columns = 80
    result = project.run("--t2i-images", images, "-k", "prompt or test_model", model=model)
    lines = result.stdout.lines
    start = next(k for k, line in enumerate(lines) if f"fairness of {model}" in line)
    told = [line for line in lines[start + 1 :] if line][:10]
    told = [line for line in told if not line.startswith("report: ")]  # paths stay whole
    assert told[0].startswith(f"{project.record()['outcome']}: ")
    assert max(map(len, told)) <= 80
    if model == "biased":
        assert any(line.startswith("worst:") for line in told)
    if project.record()["next_steps"]:
        assert any(line.startswith("next: ") for line in told)


@pytest.mark.parametrize(("no_color", "is_coloured"), [("", True), ("1", False)])
@pytest.mark.slow
def test_no_color_is_respected(project, monkeypatch, no_color, is_coloured):
    monkeypatch.delenv("PY_COLORS", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", no_color)
    result = project.run("-k", "test_model", model="biased")
    assert ("\x1b[" in result.stdout.str()) == is_coloured
