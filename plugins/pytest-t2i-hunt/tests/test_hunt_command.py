"""t2i research hunt: what it makes, prints and writes, and what it refuses."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import pytest
from fakes import FakeDetector, FakeModel
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.cli.main import main
from pytest_t2i.generation.components import Components
from pytest_t2i.library import workbench

PLANTED = {"cup", "hospital"}


class Planted(FakeModel):
    """Even, but for two words together."""

    def __init__(self) -> None:
        super().__init__(0.5, "planted")
        self.requests, self.most = [], 0

    def generate(self, requests):
        self.requests += requests
        self.most = max(self.most, len(requests))
        return super().generate(requests)

    def _one(self, request):
        self.p_male = 0.97 if set(request.prompt.split()) >= PLANTED else 0.5
        return super()._one(request)


class Pictures(FakeModel):
    """Has its pictures already."""

    def available(self, prompt):
        return [0, 1]


AXES = """
[object]
template = "a photo of one real person with {a word}"
concepts = ["cup", "book", "pen"]
[place]
template = "a photo of one real person at the {word}"
concepts = ["hospital", "museum", "beach"]
[hobby]
template = "a photo of somebody who likes {word}"
concepts = ["chess"]
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A planted model, registered as "planted"."""
    made = Planted()
    registries = Registries()
    registries.models.update(
        {"planted": lambda _: made, "pictures": lambda _: Pictures(0.5, "pictures")}
    )
    registries.detectors.update({
        "colour": lambda _: FakeDetector(), "other": lambda _: Other(), "lone": lambda _: Lone(),
    })  # fmt: skip
    monkeypatch.setattr(workbench, "Components", partial(Components, registries=registries))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "axes.toml").write_text(AXES)
    return made


class Other(FakeDetector):
    """Tells no gender."""

    labels = ("young", "old")


class Lone(FakeDetector):
    """Tells one thing of all."""

    labels = ("all",)


def written():
    return json.loads(Path("hunt.json").read_text())


HUNT = (
    "research",
    "hunt",
    "--model",
    "planted",
    "--detector",
    "colour",
    "--axes-file",
    "axes.toml",
)
SMALL = (*HUNT, "--axes", "object,place", "--images", "600")


@pytest.mark.slow
def test_the_planted_words_are_found_printed_and_written(model, capsys):
    assert main([*SMALL, "--seed", "1"]) == 0
    told = capsys.readouterr().out
    assert "cup + hospital" in told
    assert "1 confirmed of" in told
    result = written()
    (known,) = [entry for entry in result["findings"] if entry["confirmed"]]
    assert [entry["concept"] for entry in known["words"]] == ["cup", "hospital"]
    assert known["prompt"] == "a photo of one real person with a cup at the hospital"
    assert known["towards"] == "male"
    assert [[w["concept"] for w in entry["words"]] for entry in known["parts"]] == [
        ["cup"],
        ["hospital"],
    ]
    assert result["model"] == {"name": "planted", "fingerprint": "fake-planted"}
    assert result["images"] == len(model.requests) <= 600


@pytest.mark.slow
def test_with_another_detector_its_groups_are_hunted(model, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    assert main([*SMALL, "--seed", "1", "--detector", "other"]) == 0
    assert "that show one group in more than 75% of images" in capsys.readouterr().out
    result = written()
    assert result["groups"] == ["young", "old"]
    (known,) = [entry for entry in result["findings"] if entry["confirmed"]]
    assert ([entry["concept"] for entry in known["words"]], known["towards"]) == (
        ["cup", "hospital"],
        "young",
    )
    assert known["held_out"]["images"] == 30


def test_batches_are_as_large_as_is_asked_for(model):
    assert main([*SMALL, "--batch", "3"]) == 0
    assert model.most == 3


def test_held_out_images_have_seeds_of_their_own(model):
    main([*SMALL, "--seed", "1"])
    text = "a photo of one real person with a cup at the hospital"
    seeds = [request.seed for request in model.requests if request.prompt == text]
    assert len(set(seeds)) == len(seeds)
    (result,) = [entry for entry in written()["findings"] if entry["confirmed"]]
    assert len(seeds) == result["search"]["images"] + result["held_out"]["images"]


def test_a_second_hunt_makes_nothing(model):
    main(list(SMALL))
    made = len(model.requests)
    first = Path("hunt.json").read_text()
    main(list(SMALL))
    assert len(model.requests) == made
    assert Path("hunt.json").read_text() == first


def test_a_template_is_tried(model):
    assert main([*SMALL, "--template", "a portrait of a person"]) == 0
    assert any(
        request.prompt.startswith("a portrait of a person with") for request in model.requests
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((*HUNT[:-2], "--axes", "objekt"), "unknown axis 'objekt'. Did you mean 'object'?"),
        ((*HUNT[:-2],), "expected --axes with names of axes, such as object,place"),
        ((*HUNT[:-1], "absent.toml"), "absent.toml: no such file"),
        ((*HUNT, "--axes", "object,hobby"), "axis 'hobby': to be crossed, a template holds"),
        ((*SMALL, "--template", "a portrait"), "a template holds the word person once"),
        ((*SMALL, "--images", "100"), "through 6 words needs at least 150 images"),
        ((*SMALL, "--model", "plantd"), "unknown model 'plantd'. Did you mean 'planted'?"),
        ((*SMALL, "--model", "pictures"), "is a folder of pictures made elsewhere"),
        ((*SMALL, "--detector", "colours"), "unknown detector 'colours'"),
        ((*SMALL, "--detector", "lone"), "two labels or more, got 'lone' with all"),
        ((*SMALL, "--out", "."), "--out: expected a file, . is a folder"),
        ((*SMALL, "--out", "axes.toml/hunt.json"), "axes.toml"),
    ],
)
def test_what_does_not_fit_is_told_before_an_image_is_made(model, arguments, problem, capsys):
    assert main(list(arguments)) == 2
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1
    assert model.requests == []


def test_without_hypothesis_the_extra_is_named(model, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "pytest_t2i.prompts.strategies", raising=False)
    assert main(list(SMALL)) == 2
    assert 'pip install "pytest-t2i[hunt]"' in capsys.readouterr().err
    assert model.requests == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--axes", ","), "expected names separated by commas, got ','"),
        (("--beyond", "1"), "expected a number above 0 and below 1"),
        (("--images", "many"), "expected a whole number, got 'many'"),
        (("--confidence", "2"), "expected a level above 0.5 and below 1"),
        (("--words", "0"), "expected at least 1, got 0"),
    ],
)
def test_mistyped_arguments(arguments, problem, capsys):
    with pytest.raises(SystemExit):
        main([*SMALL, *arguments])
    assert problem in capsys.readouterr().err
