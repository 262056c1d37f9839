"""The searches as commands of one group."""

from __future__ import annotations

import importlib

import pytest
from pytest_t2i.cli.main import INTERRUPTED, main

NAMES = ("candidates", "hunt", "sentences", "stop")


def command(name):
    return importlib.import_module(f"pytest_t2i_hunt.commands.{name}")


def test_research_alone_lists_the_searches(capsys):
    assert main(["research"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [["t2i", "research", name] for name in NAMES]
    assert all(len(line.split()) > 5 for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_says_what_is_kept(name, monkeypatch, capsys):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command(name), "add_arguments", lambda parser: None)
    monkeypatch.setattr(command(name), "run", interrupted)
    assert main(["research", name]) == INTERRUPTED
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("t2i: interrupted. ")
    assert "kept" in last
