"""A run on labelled pictures of any names ends with a report that is verified."""

from __future__ import annotations

import os

from PIL import Image

from pytest_t2i import labels
from pytest_t2i.cli.main import main
from pytest_t2i.labels import Label

NAMES = [
    "\u200fa.png",
    "a\x85b.png",
    "=1.png",
    os.fsdecode(b"\xff.png"),
    " a .png",
    "a\nb.png",
    "\x1b[2Jb.png",
    "100%41.png",
]
SUITE = """
import pytest
from pytest_t2i import limit

@pytest.mark.t2i
def test_labels(trial):
    verdicts = [trial.accuracy(label) >= limit("accuracy", 0.1) for label in trial.labels]
    assert len(verdicts) == 2
"""


def test_names_of_any_characters_pass_through_a_run(project, capsys):
    folder = project.path / "labels"
    folder.mkdir()
    written = []
    for number in range(4):
        for name in NAMES:
            file = f"{number}{name}" if number else name
            colour = (10, 0, 200 + number) if number % 2 else (200, number, 9)
            with (folder / file).open("wb") as opened:
                Image.new("RGB", (16, 16), colour).save(opened, "PNG")
            written.append(Label(file, "male" if number % 3 else "female", "ada"))
    labels.write_labels(folder, written)
    project.write({"test_suite.py": SUITE})
    result = project.run("--t2i-labels", str(folder))
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    print(result.stdout.str(), result.stderr.str())
    assert main(["report", "verify", str(project.path / "reports/t2i")]) == 0
    (folder / NAMES[3]).write_bytes(b"another")
    assert main(["report", "verify", str(project.path / "reports/t2i")]) == 1
    assert "changed: ../../labels/%FF.png" in capsys.readouterr().out
