"""A project's own catalogue: --t2i-catalogue, its ini key, and what is wrong with one."""

from __future__ import annotations

import pytest

from pytest_t2i.cli.main import main

OWN = "[models.ours]\npath = 'nowhere'\nadapter = 'fair'\ndetector = 'colour'\nbatch = 2\n"


@pytest.mark.parametrize("way", ["option", "ini"])
@pytest.mark.slow
def test_an_alias_of_a_projects_own_catalogue(project, way):
    (project.path / "mine").mkdir()
    (project.path / "mine" / "own.toml").write_text(OWN)
    given = ["--t2i-catalogue", "mine/own.toml"]
    if way == "ini":
        (project.path / "pytest.ini").write_text("[pytest]\nt2i_catalogue = mine/own.toml\n")
        given = []
    result = project.run(
        *given, "--t2i-model", "ours", "--t2i-images", "4", "-k", "test_prompt and nurse"
    )
    assert len(project.made()) == 4, result.stdout.str()
    record = project.record()
    assert record["settings"]["catalogue"].endswith("own.toml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "absent.toml: no such file"),
        ("[models.ours]\nsteps = 3\n", "[models.ours]: expected a table with a path"),
        ("[models.ours]\npath = 'x'\nstep = 3\n", "[models.ours] step: unknown key; known are"),
        ("[models.ours]\npath = 'x'\nsteps = 0\n", "expected a whole number >= 1, got steps=0"),
        (
            "[models.ours]\npath = 'x'\nsteps = 'ten'\n",
            "a whole number or nothing, got steps='ten'",
        ),
        ("weights = 3\n", "expected a table, got weights=3"),
    ],
)
def test_a_bad_catalogue_is_a_usage_error(project, text, told):
    name = "absent.toml" if text is None else "own.toml"
    if text is not None:
        (project.path / name).write_text(text)
    status, said = project.refused("--t2i-catalogue", name, "--t2i-model", "ours")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert told in said


def test_it_is_listed(tmp_path, capsys):
    (tmp_path / "own.toml").write_text(OWN)
    assert main(["list", "models", "--catalogue", str(tmp_path / "own.toml")]) == 0
    assert "ours: nowhere" in capsys.readouterr().out
