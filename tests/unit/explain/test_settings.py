"""Hybrids are made as the run was: its recorded settings, but for what the user chose now."""

from __future__ import annotations

from pytest_t2i.explain.explain import Choices, _settings
from pytest_t2i.runs.record import RunRecord


def record(**settings):
    recorded = {"model": "mine", "detectors": ["colour"], "seed": 3, "images": 4, **settings}
    return RunRecord(
        created="2026-11-20T17:07:52+00:00", seconds=1.0, model="mine", settings=recorded,
        provenance={"model": {"fingerprint": "x"}}, work={},
    )  # fmt: skip


def test_what_the_user_chose_comes_first():
    settings = _settings(record(batch=8), Choices({"batch": 2}))
    assert (settings.batch, settings.seed, settings.images) == (2, 3, 4)
