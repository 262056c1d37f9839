"""The console script."""

from __future__ import annotations

import json
from importlib.metadata import distributions

import pytest
from distributions import installed, write_metadata

from pytest_t2i.adapters import registry
from pytest_t2i.cli.main import main
from pytest_t2i.runs.record.record import RunRecord


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            "models",
            "sdxl: stabilityai/stable-diffusion-xl-base-1.0 (50 steps, guidance 5.0, 1024 px)",
        ),
        ("detectors", "clip"),
        ("faces", "mmod"),
        ("persons", "yolo"),
        ("encoders", "open-clip"),
        ("axes", "profession: 40 concepts"),
    ],
)
def test_list(kind, expected, capsys):
    assert main(["list", kind]) == 0
    assert any(line.startswith(expected) for line in capsys.readouterr().out.splitlines())


ABOUT = {"pytest_t2i.mitigations": {"halfway": "halving:Halfway"}}
HALVING = """
class Halfway:
    name, fingerprint, stage, families, passes = "halfway", "1", "attention", ("SomePipeline",), 1.4
    needs_counterparts = True

    def __init__(self, weight: float = 0.5): ...

    def applied(self, pipeline, requests): ...
"""


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        (
            {},
            "no mitigation is installed. Run: pip install pytest-t2i-mitigation "
            "(in a clone: pip install ./plugins/pytest-t2i-mitigation)\n",
        ),
        (
            ABOUT,
            "halfway: stage attention, 1.4 passes per picture, fits SomePipeline (weight=0.5)\n",
        ),
    ],
    ids=["none", "one"],
)
def test_list_mitigations(groups, told, tmp_path, monkeypatch, capsys):
    (tmp_path / "halving.py").write_text(HALVING)
    write_metadata(tmp_path, "t2i-halving", "1.0", groups)
    for _ in installed(tmp_path, monkeypatch):
        monkeypatch.setattr(registry, "entry_points", only(tmp_path))
        assert main(["list", "mitigations"]) == 0
    assert capsys.readouterr().out == told


def only(folder):
    """What is installed in a folder alone."""
    found = [point for one in distributions(path=[str(folder)]) for point in one.entry_points]
    return lambda group: [point for point in found if point.group == group]


def test_report_renders_a_run_again(tmp_path, capsys):
    work = {"planned": 0, "made": 0, "seconds": 0.0, "refused": 0, "notes": []}
    record = RunRecord("2026-01-01T00:00:00+00:00", 1.0, "m", {}, {}, work)
    record.write(tmp_path / "run.json")
    assert main(["report", str(tmp_path / "run.json"), str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "index.html").is_file()
    again = json.loads((tmp_path / "out" / "run.json").read_text())
    assert again == json.loads(record.to_json())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "line 1 column 2"),
        ("{}", "expected schema"),
        ('{"schema": "pytest-t2i/run/9"}', "expected schema 'pytest-t2i/run/1'"),
        ('{"schema": "pytest-t2i/run/1"}', "no key 'created'"),
    ],
)
def test_a_bad_run_is_told(tmp_path, capsys, text, problem):
    (tmp_path / "run.json").write_text(text)
    assert main(["report", str(tmp_path / "run.json"), str(tmp_path)]) == 2
    assert problem in capsys.readouterr().err


def test_an_absent_run_is_told(tmp_path, capsys):
    assert main(["report", str(tmp_path / "no.json"), str(tmp_path)]) == 2
    assert "no such run.json" in capsys.readouterr().err


def test_the_help_fits_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    names = [line.split()[0] for line in lines if line.startswith("    ")]
    assert names[:4] == ["run", "init", "demo", "list"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["rprot"], "Did you mean report?"),
        (["--modle"], "unrecognized arguments: --modle"),
        (["label", "imprt", "a.csv"], "Did you mean import?"),
        (["plan", "--prompt", "4"], "Did you mean --prompts?"),
        (["list", "modls"], "invalid choice: 'modls'"),
        (["list", "modls"], "Did you mean models?"),
        (["list", "models", "--catalouge", "x"], "Did you mean --catalogue?"),
        (["init", "--word=nurse"], ""),
        (["init", "--wrods=nurse"], "Did you mean --words?"),
        (["compare", "--confidnece", "0.9", "run.json"], "Did you mean --confidence?"),
        (["store", "verfy"], "Did you mean verify?"),
        (["store", "prune", "--dryrun"], "--dryrun"),
    ],
)
def test_what_is_mistyped_is_named_with_the_nearest(words, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        status = main(words)
    except SystemExit as ended:
        status = ended.code
    assert (status, told) == (0, "") or status == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("group", ["report", "compare"])
def test_a_command_with_commands_names_them(group, capsys):
    with pytest.raises(SystemExit):
        main([group, "--help"])
    assert f"Also: t2i {group} " in capsys.readouterr().out


def test_t2i_alone_prints_the_help(capsys):
    with pytest.raises(SystemExit, match="2"):
        main([])
    assert capsys.readouterr().out.startswith("usage: t2i ")
