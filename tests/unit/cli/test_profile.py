"""``t2i profile``."""

from __future__ import annotations

import pytest

from pytest_t2i.cli.main import main


@pytest.fixture
def project(tmp_path, monkeypatch):
    from project_files import FAKES

    (tmp_path / "painted.py").write_text(FAKES.read_text())
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_prints_a_table(project, capsys):
    named = ("--model", "painted:fair", "--detector", "painted:detector", "--images", "3")
    assert main(["profile", *named]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("painted:fair with painted:detector: 12 images")
    assert {line.split("  ")[0] for line in lines[2:-2]} >= {"PNG", "detection", "store"}
    assert "images/s" in lines[-1]
    assert "cores busy" in lines[-1]


@pytest.mark.parametrize("named", [("--images", "0", "--model", "m"), ()])
def test_what_is_mistyped_is_told(project, named, capsys):
    with pytest.raises(SystemExit):
        main(["profile", *named])
    assert "t2i profile: error:" in capsys.readouterr().err


def test_an_unknown_model_is_one_line(project, capsys):
    assert main(["profile", "--model", "nowhere"]) == 2
    assert "unknown model 'nowhere'" in capsys.readouterr().err
