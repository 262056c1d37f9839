"""t2i research hunt as a job: findings on one stream, progress on the other, and an exit status."""

from __future__ import annotations

from functools import partial

import pytest
from fakes import FakeDetector, FakeModel
from pytest_t2i import axes
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.cli.main import main
from pytest_t2i.generation.components import Components
from pytest_t2i.library import workbench

from pytest_t2i_hunt.commands import hunt as command
from pytest_t2i_hunt.search.plan import Plan

AXES = """
[object]
template = "a photo of one real person with {a word}"
concepts = ["cup", "book", "pen"]
"""
HUNT = ("research", "hunt", "--detector", "colour", "--axes-file", "axes.toml", "--images", "200")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    registries = Registries()
    models = {
        name: lambda _, p=p: FakeModel(p, str(p)) for name, p in (("men", 1.0), ("even", 0.5))
    }
    registries.models.update(models)
    registries.detectors.update({"colour": lambda _: FakeDetector()})
    monkeypatch.setattr(workbench, "Components", partial(Components, registries=registries))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "axes.toml").write_text(AXES)
    return tmp_path


@pytest.mark.parametrize(
    ("model", "arguments", "status"),
    [("men", ("--fail",), 1), ("even", ("--fail",), 0), ("men", (), 0),
     ("men", ("--fail", "--held-out", "10"), 0)],
)  # fmt: skip
def test_a_confirmed_finding_fails_a_job_that_asks_for_it(folder, model, arguments, status):
    assert main([*HUNT, "--model", model, *arguments]) == status
    assert (folder / "hunt.json").is_file()


def test_progress_goes_to_the_standard_error(folder, capsys):
    main([*HUNT, "--model", "men"])
    told = capsys.readouterr()
    assert "t2i: hunting with men: 200 images" in told.err
    assert "t2i: single words" in told.err
    assert "t2i:" not in told.out
    assert told.out.startswith("single words biased beyond 0.5")
    assert "warning" not in told.err + told.out


def test_held_out_images_that_cannot_confirm_are_warned_of(folder, capsys):
    main([*HUNT, "--model", "men", "--held-out", "10"])
    told = capsys.readouterr()
    assert (
        "t2i: warning: 10 held-out images cannot confirm a bias beyond 0.5, even if all show one "
        "gender: give --held-out 11 or more" in told.err
    )
    assert "0 confirmed of 3 found" in told.out
    assert told.err.index("warning") < told.err.index("hunting with")


@pytest.mark.parametrize(
    ("confirm", "beyond", "confidence", "fewest"),
    [(10, 0.5, 0.95, 11), (11, 0.5, 0.95, None), (17, 0.5, 0.99, 17), (16, 0.5, 0.99, 17)],
)
def test_the_fewest_that_confirm(confirm, beyond, confidence, fewest):
    plan = Plan((axes.place,), 2000, 1, beyond, confirm, confidence)
    note = command.cannot_confirm(plan)
    assert (f"--held-out {fewest} or more" in note) if fewest and confirm < fewest else note == ""


def test_the_table_is_as_wide_as_told(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    main([*HUNT, "--model", "men"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert any("+1.00" in line for line in lines)


def test_single_words_have_no_column_of_parts(folder, capsys):
    main([*HUNT, "--model", "men"])
    assert "its parts" not in capsys.readouterr().out


def test_one_model_is_asked_for_and_the_help_says_so(capsys):
    with pytest.raises(SystemExit):
        main(["research", "hunt", "--help"])
    assert "by comma" not in capsys.readouterr().out.split("--axes")[0]
