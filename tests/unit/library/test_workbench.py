"""The workbench of a command: it makes and observes what the store lacks, and only that."""

from __future__ import annotations

from functools import partial

import pytest
from fakes import FakeDetector, FakeModel

from pytest_t2i import GenerationSettings, Need, Prompt, RunRecord, Workbench
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.components import Components
from pytest_t2i.library import workbench
from pytest_t2i.settings import settings_of

NURSE = Prompt("a photo of a nurse", "profession", "nurse")


class Pictures(FakeModel):
    """Has its pictures already."""

    def available(self, prompt):
        return [0, 1]


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Make a workbench with these options."""
    registries = Registries()
    registries.models.update({"men": lambda _: FakeModel(1.0, "men")})
    registries.models.update({"pictures": lambda _: Pictures(0.5, "pictures")})
    registries.detectors.update({"colour": lambda _: FakeDetector()})
    monkeypatch.setattr(workbench, "Components", partial(Components, registries=registries))
    usual = {"model": "men", "detector": ("colour",), "store": tmp_path}
    return lambda **options: Workbench(settings_of(usual | options))


def test_what_was_made_is_observed_and_not_made_again(bench, capsys):
    for _ in range(2):
        men = bench(seed=3)
        seeds = men.seeds(NURSE, 4)
        assert len(set(seeds)) == 4
        with men.showing("making", 4) as progress:
            men.make([Need(NURSE, seeds, frozenset({men.detector}))])
            progress.advance(4)
        found = men.observations().detections(NURSE, seeds, men.detector)
        assert [detection.label for detection in found] == ["male"] * 4
        told = capsys.readouterr()
        assert (told.out, told.err.splitlines()[0]) == ("", "t2i: making: 4 images")
    assert (men.model_fingerprint, men.detector.name, men.batch) == ("fake-men", "colour", None)


@pytest.mark.parametrize(
    ("options", "kind", "problem"),
    [
        ({"model": "pictures"}, ConfigurationError, "is a folder of pictures made elsewhere"),
        ({"model": "man"}, ConfigurationError, "unknown model 'man'"),
        ({"detector": ("color",)}, ConfigurationError, "unknown detector 'color'"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(bench, options, kind, problem):
    with pytest.raises(kind, match=problem) as error:
        bench(**options)
    assert "--t2i-" not in str(error.value)


def test_without_a_price_nothing_is_said(bench):
    said = []
    with bench().paying(4, said.append):
        pass
    assert said == []


def test_a_workbench_of_a_run_takes_its_settings(bench, tmp_path):
    recorded = {
        "model": "men", "detectors": ["colour"], "seed": 3, "images": 4, "batch": 8,
        "store": str(tmp_path),
    }  # fmt: skip
    provenance = {"generation": {"steps": 4}}
    record = RunRecord("2026-11-20T17:07:52+00:00", 1.0, "men", recorded, provenance, {})
    of_run = Workbench.of_run(record, {"batch": 2})
    settings = of_run.settings
    assert (settings.batch, settings.seed, settings.images) == (2, 3, 4)
    assert (of_run.generation.steps, of_run.detector.name) == (4, "colour")
    recorded["model_option"] = {"clip_skip": 2}
    with pytest.raises(ConfigurationError, match="takes no further arguments, got clip_skip"):
        Workbench.of_run(record)


def test_a_workbench_beside_another_shares_its_store(bench):
    men = bench()
    slow = men.beside(generation=GenerationSettings(steps=9))
    slow.make([Need(NURSE, men.seeds(NURSE, 2), frozenset({men.detector}))])
    assert (slow.generation.steps, slow.made, men.made) == (9, 2, 0)
    again = men.beside(generation=GenerationSettings(steps=9))
    again.make([Need(NURSE, men.seeds(NURSE, 2), frozenset({men.detector}))])
    assert again.made == 0
