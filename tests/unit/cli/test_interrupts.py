"""Ctrl-C on a command: one line that says what is kept, and the exit status of shells."""

from __future__ import annotations

from importlib import import_module

import pytest

from pytest_t2i.cli.main import COMMANDS, INTERRUPTED, main


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"run"}))
def test_every_command_ends_in_one_line(name, monkeypatch, capsys):
    module = import_module(f"pytest_t2i.cli.{COMMANDS[name][0]}")

    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "add_arguments", lambda parser: None)
    monkeypatch.setattr(module, "run", interrupted)
    assert main(name.split(".")) == INTERRUPTED
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert told.err.startswith("t2i: interrupted. ")
    assert "kept" in told.err


def test_ctrl_c_while_a_module_is_imported(monkeypatch, capsys):
    def interrupted(name):
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_t2i.cli.main.import_module", interrupted)
    assert main(["plan"]) == INTERRUPTED
    assert capsys.readouterr().err.startswith("t2i: interrupted. ")
