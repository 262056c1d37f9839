"""Hybrids are made as the run was: its recorded settings, but for what the user chose now."""

from __future__ import annotations

from pytest_t2i.explain.explain import Choices, _other_parts, _settings
from pytest_t2i.runs.explanation.sides import side_of_run
from pytest_t2i.runs.record import RunRecord


def record(extra="", **settings):
    recorded = {"model": "mine", "detectors": ["colour"], "seed": 3, "images": 4, **settings}
    return RunRecord(
        created="2026-11-20T17:07:52+00:00", seconds=1.0, model="mine", settings=recorded,
        provenance={"model": {"fingerprint": "x", "part unet": "u", "extra": extra}}, work={},
    )  # fmt: skip


def test_what_the_user_chose_comes_first():
    settings = _settings(record(batch=8), Choices({"batch": 2}))
    assert (settings.batch, settings.seed, settings.images) == (2, 3, 4)


def test_further_arguments_are_those_of_the_run():
    settings = _settings(record(model_option={"clip_skip": 2}), Choices({}))
    assert settings.model_option == {"clip_skip": 2}


def test_a_model_with_other_further_arguments_is_another():
    sides = [side_of_run(record(extra=extra)) for extra in ("call={'clip_skip': 2}", "")]
    assert _other_parts(*sides) == ["extra"]
    assert _other_parts(sides[0], sides[0]) == []
