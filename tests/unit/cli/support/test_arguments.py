"""Lines of a command are as wide as the terminal."""

from __future__ import annotations

import os

import pytest

from pytest_t2i.cli.support.arguments import say

LINE = "one model - another: +0.649 [+0.412, +0.886], p = 0.0004: the first is more biased than it"


@pytest.mark.parametrize(("columns", "count"), [("60", 2), ("200", 1), ("", 1)])
def test_a_line_is_broken_where_the_terminal_is_narrower(columns, count, monkeypatch, capsys):
    def nowhere(*_):
        raise OSError("no terminal")

    monkeypatch.setattr(os, "get_terminal_size", nowhere)
    monkeypatch.setenv("COLUMNS", columns)
    say(LINE)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == count
    assert " ".join(line.strip() for line in lines) == LINE
    assert any("[+0.412, +0.886]" in line for line in lines)
    assert not columns or max(map(len, lines)) <= int(columns)
