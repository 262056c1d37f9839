"""The tutorials do what they say: their files are written, their commands run, their output met.

A block of code with a title is a file. A block of console has commands after ``$``; what stands
below a command is what it prints, with numbers and paths masked and ``...`` for what is
left out.
``<!-- exit 1 -->`` before it says the exit status, ``<!-- not run -->`` that it is not run. Models
named reference and reference-biased are instant fakes (conftest.py).
"""

from __future__ import annotations

import csv
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from PIL import Image

from pytest_t2i.cli.main import main

TUTORIALS = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.md"))
TEN_MINUTES = next(page for page in TUTORIALS if page.stem == "ten-minutes")
BLOCK = re.compile(
    r"(?:<!-- (?P<remark>[^>]*) -->\n)?^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n"
    r"(?P<content>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
MASKS = [
    (re.compile(r"\S*/\S*"), "PATH"),
    (re.compile(r"[+-]?\d+(?:[.:,]\d+)*"), "N"),
    (re.compile(r"={2,}"), "=="),
    (re.compile(r"\s+"), " "),
]
"""What may differ from run to run; the rest of a line may not."""


class Command(NamedTuple):
    line: str
    output: list[str]
    status: int


def blocks(text):
    return [match.groupdict() for match in BLOCK.finditer(text)]


def commands(block):
    """The commands of a console block, each with what it prints."""
    status = int((block["remark"] or "exit 0").removeprefix("exit "))
    result = []
    for line in block["content"].splitlines():
        if line.startswith("$ "):
            result.append(Command(line[2:], [], status))
        elif line.strip():
            result[-1].output.append(line)
    return result


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
        program, *arguments = shlex.split(line)
        if program == "python":
            runpy.run_path(str(pytester.path / arguments[0]))
            return 0, ""
        if program == "pytest":
            result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)
            return int(result.ret), result.stdout.str() + result.stderr.str()
        assert program == "t2i", f"neither pytest nor t2i: {line}"
        if arguments[0] == "label":
            label_by_colour(pytester.path / arguments[1], arguments[-1])
            return 0, ""
        capsys.readouterr()
        status = main(arguments)
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    return run


@pytest.mark.slow
@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_does_what_it_says(tutorial, reader, pytester):
    done = 0
    for block in blocks(tutorial.read_text(encoding="utf-8")):
        if block["remark"] == "not run":
            continue
        if block["title"]:
            file = pytester.path / block["title"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block["content"], encoding="utf-8")
        elif block["language"] == "console":
            for command in commands(block):
                done += 1
                status, printed = reader(command.line)
                assert status == command.status, f"$ {command.line}\n{printed}"
                assert_shown(command, printed)
    assert done, "a tutorial runs something"


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


@pytest.mark.slow
def test_the_ten_minutes_with_the_models_they_name(tmp_path):
    """Each step as a reader takes it, in a process of its own."""
    pytest.importorskip("pytest_t2i_reference", reason="the reference models are not installed")
    statuses = []
    for block in blocks(TEN_MINUTES.read_text(encoding="utf-8")):
        if block["title"]:
            (tmp_path / block["title"]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block["title"]).write_text(block["content"], encoding="utf-8")
        if block["language"] != "console" or block["remark"] == "not run":
            continue
        for command in commands(block):
            program, *arguments = shlex.split(command.line)
            assert program == "pytest"
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
                cwd=tmp_path, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == command.status, done.stdout + done.stderr
            statuses.append(done.returncode)
    assert statuses == [0, 1]
    summary = (tmp_path / "reports/t2i/summary.md").read_text()
    assert "FAIL" in summary
