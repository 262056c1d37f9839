"""Numbers of the documentation are what the commands beside them print."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
MOST_UNMARKED = 131
"""Figures of all pages without a command: a new figure needs one, and this number only falls."""


def _load():
    name = "claims_of_docs"
    spec = importlib.util.spec_from_file_location(name, REPOSITORY / "docs/tools/claims.py")
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


TOOL = _load()
CLAIMS = list(TOOL.claims())
SLOW = [claim for claim in CLAIMS if claim.is_slow]
QUICK = [claim for claim in CLAIMS if not claim.is_slow]


def name(claim):
    return f"{claim.page}:{claim.line}"


@pytest.mark.parametrize("claim", SLOW, ids=name)
def test_figures_are_those_of_the_committed_tables(claim):
    assert TOOL.differs(claim) == ""


@pytest.mark.slow
@pytest.mark.parametrize("claim", QUICK, ids=name)
def test_figures_are_what_their_commands_print(claim):
    assert TOOL.differs(claim) == ""


def test_no_figure_comes_without_a_command():
    assert TOOL.all_unmarked() <= MOST_UNMARKED


ROW = "python tests/simulations/families.py ; fair | 20 | ; 5"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"50 %<!-- claim: slow {ROW} -->", ""),
        (f"0.5<!-- claim: slow {ROW} -->", ""),
        (f"52 %<!-- claim: slow {ROW} -->", "the page says 0.52, the command 0.5"),
        (f"52 %<!-- claim: slow {ROW} ; 0.02 -->", ""),
        (f"50 %<!-- claim: slow {ROW}0 -->", "expected 50 cells"),
        (
            "1 %<!-- claim: slow python tests/simulations/families.py ; no such ; 2 -->",
            "found none",
        ),
        ("1 %<!-- claim: slow python tests/simulations/no_such.py ; fair ; 2 -->", "No such file"),
        ("1 %<!-- claim: python -c 1/0 ; fair ; 2 -->", "ended with status 1"),
        ("1 %<!-- claim: python -c 0 ; fair ; 2 -->", "found none"),
    ],
)
def test_what_differs_is_said(tmp_path, text, says):
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\nwrong in {text} of runs\n", encoding="utf-8")
    [claim] = TOOL.claims([page])
    difference = TOOL.differs(claim)
    assert says in difference
    assert bool(says) == bool(difference)


def test_figures_without_a_command_are_counted(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("in 5 % and 0.25 of `0.5` runs, 1 %<!-- claim: slow a ; b ; 1 -->, 20 images")
    assert TOOL.unmarked(page) == 2
