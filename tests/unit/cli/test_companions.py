"""Commands of companions: listed by the docstrings of their modules, and run like our own."""

from __future__ import annotations

import pytest
from distributions import installed, write_metadata

from pytest_t2i.adapters import registry
from pytest_t2i.cli.main import INTERRUPTED, main

COMMAND = """'''``t2i paint``: paint 100 % of a wall.'''

from pytest_t2i.errors import ConfigurationError

KEPT = "Painted walls are kept."

def add_arguments(parser):
    parser.add_argument("word")

def run(word):
    if word == "slow":
        raise KeyboardInterrupt
    if word == "bad":
        raise ConfigurationError("expected a good word, got 'bad'")
    print(f"painted {word}")
    return 3
"""


@pytest.fixture
def companion(tmp_path, monkeypatch):
    (tmp_path / "painting.py").write_text(COMMAND)
    write_metadata(tmp_path, "t2i-painting", "1.0", {"pytest_t2i.commands": {"paint": "painting"}})
    yield from installed(tmp_path, monkeypatch)


def test_a_command_runs(companion, capsys):
    assert main(["paint", "red"]) == 3
    assert capsys.readouterr().out == "painted red\n"


def test_its_errors_are_one_line(companion, capsys):
    assert main(["paint", "bad"]) == 2
    assert capsys.readouterr().err == "ERROR: expected a good word, got 'bad'\n"


def test_its_own_note_follows_ctrl_c(companion, capsys):
    assert main(["paint", "slow"]) == INTERRUPTED
    assert capsys.readouterr().err == "t2i: interrupted. Painted walls are kept.\n"


def test_it_is_listed_beside_ours(companion, capsys):
    assert ended(["--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "paint paint 100 % of a wall" in told
    assert told.index("init write a suite") < told.index("paint paint")


def test_without_it_the_name_is_unknown(capsys):
    assert ended(["paint", "red"]) == 2
    assert "invalid choice: 'paint'" in capsys.readouterr().err


GROUP = """'''``t2i wall {name}``: {name} 100 % of a wall.'''

KEPT = "Painted walls are kept."

def add_arguments(parser):
    parser.add_argument("word")

def run(word):
    if word == "slow":
        raise KeyboardInterrupt
    print(f"{name} {{word}}")
    return 3
"""


@pytest.fixture
def group(tmp_path, monkeypatch):
    """A companion with two commands of one group."""
    names = ("paint", "sand")
    for name in names:
        (tmp_path / f"wall_{name}.py").write_text(GROUP.format(name=name))
    points = {f"wall.{name}": f"wall_{name}" for name in names}
    write_metadata(tmp_path, "t2i-walls", "1.0", {"pytest_t2i.commands": points})
    yield from installed(tmp_path, monkeypatch)


@pytest.mark.parametrize("name", ["paint", "sand"])
def test_a_command_of_a_group_runs(group, capsys, name):
    assert main(["wall", name, "red"]) == 3
    assert capsys.readouterr().out == f"{name} red\n"


def test_a_group_alone_lists_its_commands(group, capsys):
    assert ended(["wall"]) == 0
    told = capsys.readouterr().out
    assert "paint     paint 100 % of a wall" in told
    assert "sand      sand 100 % of a wall" in told


def test_a_group_is_one_entry_of_the_help(group, capsys):
    assert ended(["--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "wall paint or sand" in told
    assert "wall.paint" not in told


def ended(words):
    """The exit status, also where argparse ends the process."""
    try:
        return main(words)
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["wall", "pain"], "Did you mean paint?"),
        (["wall", "paint"], "the following arguments are required: word"),
        (["wall.paint", "red"], "invalid choice: 'wall.paint'"),
        (["wall", "--loud"], "unrecognized arguments: --loud"),
        (["wal", "paint"], "Did you mean wall?"),
    ],
)
def test_a_group_without_a_command_or_with_a_wrong_one(group, capsys, words, problem):
    assert ended(words) == 2
    assert problem in capsys.readouterr().err


def test_the_note_of_a_grouped_command_follows_ctrl_c(group, capsys):
    assert main(["wall", "sand", "slow"]) == INTERRUPTED
    assert capsys.readouterr().err == "t2i: interrupted. Painted walls are kept.\n"


@pytest.mark.parametrize("command", ["goya", "label page", "label studio", "mitigate"])
def test_without_a_known_companion_the_line_that_installs_it_is_told(monkeypatch, capsys, command):
    monkeypatch.setattr(registry, "_installed", lambda group: {})
    assert main([*command.split(), "folder"]) == 2
    labelling = dict.fromkeys(("label page", "label studio"), "labelling")
    name = {**labelling, "mitigate": "mitigation"}.get(command, command)
    told = (
        f"ERROR: t2i {command} is not installed. Run: pip install pytest-t2i-{name} "
        f"(in a clone: pip install ./plugins/pytest-t2i-{name})\n"
    )
    assert capsys.readouterr().err == told


def test_without_the_commands_of_research_the_line_that_installs_them_is_told(monkeypatch, capsys):
    monkeypatch.setattr(registry, "_installed", lambda group: {})
    assert main(["research", "stop"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] + "\n" == (
        "ERROR: t2i research is not installed. Run: pip install pytest-t2i-origins "
        "(in a clone: pip install ./plugins/pytest-t2i-origins)\n"
    )
