"""Every option with every value that it does not take, and documents with every kind of mistake."""

from __future__ import annotations

import pytest
from bad_options import command_rows, option_rows
from hostile import USAGE
from processes import ended
from small_project import has_traceback, made, run_pytest, run_t2i, write

FEW, MANY = 10, 60
"""Of the rows that a quick run takes, and a whole one; ``run.py hostile`` tries all of them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A project with everything that the rows name."""
    return write(tmp_path_factory.mktemp("bad"))


@pytest.fixture(scope="module")
def rows(folder):
    """All rows, each once."""
    every = [*option_rows(folder), *command_rows(folder)]
    return list({row.arguments: row for row in every}.values())


def refuse(folder, row):
    run = run_pytest if row.program == "pytest" else run_t2i
    child = ended(run(*row.arguments), folder)
    told = child.told
    assert not child.hung, row.words
    assert not has_traceback(told), (row.words, told)
    if row.is_wrong:
        assert child.status == USAGE[row.program], (row.words, told)
        assert told.strip(), row.words


def test_there_are_many(rows):
    assert len(rows) >= 500
    assert sum(row.is_wrong and row.program == "pytest" for row in rows) >= 250


@pytest.mark.slow
@pytest.mark.parametrize("count", [FEW, MANY])
def test_so_many_of_them(folder, rows, count):
    for row in rows[:: len(rows) // count]:
        refuse(folder, row)
    assert not made(folder)
