"""``--t2i-history``: finished runs are kept beside the report, elsewhere, or not at all."""

from __future__ import annotations

import pytest


def kept(project, folder="reports/t2i/history"):
    return sorted((project.path / folder).glob("*.json"))


@pytest.mark.slow
def test_every_finished_run_is_kept(project):
    project.run("-k", "test_model")
    project.run("-k", "test_model", model="biased")
    assert len(kept(project)) == 2


@pytest.mark.parametrize(("where", "count"), [("off", 0), ("elsewhere", 1)])
@pytest.mark.slow
def test_elsewhere_or_not_at_all(project, where, count):
    project.run("-k", "test_model", f"--t2i-history={where}")
    assert kept(project) == []
    assert len(kept(project, "elsewhere")) == count
