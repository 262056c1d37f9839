"""The workbench of a command: it makes and observes what the store lacks, and only that."""

from __future__ import annotations

from functools import partial

import pytest
from fakes import FakeDetector, FakeModel

from pytest_t2i import Need, Prompt, Workbench
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
