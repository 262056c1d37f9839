"""The page that reproduces tables: every command is one that the tool takes."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from pytest_t2i.cli import main

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "reproduce.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```([^\n]*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for title, block in BLOCKS if not title for line in block.splitlines()]
CAPTIONS = "person looks at the falling balloons at the conclusion\n"


def commands(program):
    return [line for line in COMMANDS if line.startswith(f"{program} ")]


def test_there_are_some():
    assert len(commands("pytest")) >= 6
    assert len(commands("t2i")) >= 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the commands name, with pictures and captions of our own."""
    folder = tmp_path_factory.mktemp("tables")
    shutil.copytree(REPOSITORY / "suites", folder / "suites")
    for name in ("test_wu.py", "test_oasis_sd2.py"):
        (code,) = (block for title, block in BLOCKS if name in title)
        (folder / name).write_text(code)
    (folder / "one.txt").write_text(CAPTIONS)
    return folder


def collected(folder, line):
    """What pytest collects for a command, on the reference model."""
    given = re.sub(r"--t2i-model \S+", "--t2i-model reference", line)
    given = given.replace("captions_val2017.json", "one.txt").replace("auto", "yolo:reference")
    given = re.sub(r"--t2i-labels \S+ |--t2i-detector \S+ ", "", given)
    arguments = [*shlex.split(given)[1:], "--collect-only", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("line", commands("pytest"))
def test_pytest_takes_it_and_finds_tests(folder, line):
    done = collected(folder, line)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"[1-9]\d* tests? collected", done.stdout)


@pytest.mark.parametrize("line", commands("t2i"))
def test_t2i_knows_its_options(line, capsys):
    words = shlex.split(line)[1:]
    command = [*takewhile(lambda word: not word.startswith("--"), words)]
    with pytest.raises(SystemExit):
        main.main([*command, "--help"])
    told = capsys.readouterr().out
    for option in (word for word in words if word.startswith("--")):
        assert re.search(rf"{option}\b", told), option
