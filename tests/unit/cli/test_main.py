"""The console script."""

from __future__ import annotations

import json
from importlib.metadata import distributions

import pytest
from distributions import installed, write_metadata

from pytest_t2i.adapters import registry
from pytest_t2i.cli.main import main
from pytest_t2i.runs.record import RunRecord


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
        ({}, "no mitigation is installed. Run: pip install pytest-t2i-mitigation\n"),
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
    (tmp_path / "run.json").write_text(record.to_json())
    assert main(["report", str(tmp_path / "run.json"), str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "index.html").is_file()
    again = json.loads((tmp_path / "out" / "run.json").read_text())
    assert again == json.loads(record.to_json())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "line 1 column 2"),
        ("{}", "expected schema"),
        ('{"schema": "pytest-t2i/run/1"}', "expected schema 'pytest-t2i/run/3'"),
        ('{"schema": "pytest-t2i/run/3"}', "no key 'created'"),
    ],
)
def test_a_bad_run_is_told(tmp_path, capsys, text, problem):
    (tmp_path / "run.json").write_text(text)
    assert main(["report", str(tmp_path / "run.json"), str(tmp_path)]) == 2
    assert problem in capsys.readouterr().err


def test_an_absent_run_is_told(tmp_path, capsys):
    assert main(["report", str(tmp_path / "no.json"), str(tmp_path)]) == 2
    assert "no such run.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("former", "present"), [("check-detector", "detector check"), ("fetch", "detector fetch")]
)
def test_a_former_name_runs_the_command_and_names_the_present_one(capsys, former, present):
    with pytest.raises(SystemExit) as ended:
        main([former, "--help"])
    assert ended.value.code == 0
    out, err = capsys.readouterr()
    assert f"t2i {former} is now t2i {present}." in err
    assert f"usage: t2i {present}" in out


def test_a_group_alone_lists_its_commands(capsys):
    assert main(["detector"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "t2i detector check",
        "t2i detector fetch",
    ]


@pytest.mark.parametrize("words", [["detector", "chek"], ["detector", "--labels", "x"]])
def test_a_group_with_an_unknown_command_ends_in_a_usage_error(capsys, words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "check" in capsys.readouterr().err
