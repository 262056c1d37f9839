"""The manifest of a run: one byte changed is named, an unchanged copy elsewhere is verified."""

from __future__ import annotations

import json
import shutil
import sqlite3

import pytest
from PIL import Image

from pytest_t2i import labels
from pytest_t2i.cli.main import main
from pytest_t2i.labels import Label


def label_by_eye(folder):
    """What a person sees: blue is a man, red a woman."""
    said = []
    for name in labels.image_files(folder):
        red, _, blue = Image.open(folder / name).getpixel((8, 8))
        said.append(Label(name, "male" if blue > red else "female", "ada"))
    labels.write_labels(folder, said)


@pytest.fixture
def audited(project, fair, capsys, monkeypatch):
    """A run with labels and a card, in a project of its own."""
    monkeypatch.setenv("COLUMNS", "240")  # lines are whole
    project.take(fair)
    root = project.path
    picture = project.record()["prompts"][0]["images"][0]["file"]
    sample = ["sample", str(root / "reports/t2i/run.json"), str(root / "labels")]
    assert main([*sample, "--per-prompt", "4", "--store", picture.partition("/images/")[0]]) == 0
    label_by_eye(root / "labels")
    project.run("-k", "test_model", "--t2i-labels", str(root / "labels"))
    report = root / "reports/t2i"
    card = ["export", "fairness-card", str(report / "run.json"), "--output", str(report)]
    assert main(card) == 0
    capsys.readouterr()
    return root


def change(file):
    """Change one byte."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


def relabel(root):
    with sqlite3.connect(root / ".t2i/index.sqlite") as index:
        index.execute("UPDATE detections SET label = 'female' WHERE label = 'male'")
    index.close()


def test_what_changed_is_named_and_a_copy_elsewhere_is_verified(audited, tmp_path_factory, capsys):
    manifest = json.loads((audited / "reports/t2i/manifest.json").read_text())
    assert str(audited) not in json.dumps(manifest)
    assert {name for name, part in manifest["parts"].items() if part["hashes"]} == {
        "suite", "limits", "labels", "images", "store index", "report", "card",
    }  # fmt: skip

    copy = tmp_path_factory.mktemp("moved") / "else where"
    shutil.copytree(audited, copy)
    assert main(["verify-report", str(copy / "reports/t2i")]) == 0
    assert "verified: all " in capsys.readouterr().out

    picture = next(name for name in manifest["parts"]["images"]["hashes"])
    for part, name in (
        ("limits", "limits.toml"),
        ("labels", "labels/labels.csv"),
        ("labels", "labels/01.png"),
        ("images", picture),
        ("suite", "test_suite.py"),
        ("suite", "conftest.py"),
        ("report", "run.json"),
        ("report", "index.html"),
        ("report", "summary.md"),
        ("card", "reports/t2i/fairness-card.html"),
    ):
        file = (copy / "reports/t2i" if part == "report" else copy) / name
        before = file.read_bytes()
        change(file)
        assert main(["verify-report", str(copy / "reports/t2i")]) == 1
        told = capsys.readouterr().out.splitlines()
        assert told[:-1] == [f"changed: {part}: {name}"]
        assert told[-1].startswith("NOT VERIFIED: 1 of ")
        file.unlink()
        assert main(["verify-report", str(copy / "reports/t2i")]) == 1
        assert f"missing: {part}: {name}" in capsys.readouterr().out
        file.write_bytes(before)

    relabel(copy)
    assert main(["verify-report", str(copy / "reports/t2i")]) == 1
    assert "changed: store index: " in capsys.readouterr().out
