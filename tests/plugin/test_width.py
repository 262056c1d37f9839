"""COLUMNS is respected."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("columns", [60, 100])
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
