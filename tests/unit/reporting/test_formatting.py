"""Lines of the terminal: as wide as it is, and never broken within a number."""

from __future__ import annotations

import re

import pytest

from pytest_t2i.data import Outcome
from pytest_t2i.reporting.formatting import side_counts, side_of, wrapped
from pytest_t2i.reporting.terminal import summarise
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.check import Check

LINE = (
    "  prompt_bias_score of profession-pilot: +1.000 [+0.700, +1.000], allowed <= 0.6, 0.210 -> "
    "0.300, change -0.10 [-0.20, 0.00], p = 0.002, 7 prompts, estimated beyond"
)
WHOLE = ("[+0.700, +1.000]", "[-0.20, 0.00]", "<= 0.6", "0.210 -> 0.300", "p = 0.002", "7 prompts")


@pytest.mark.parametrize("width", range(40, 160))
def test_no_number_is_broken_and_no_line_is_too_long(width):
    lines = wrapped(LINE, width)
    assert max(map(len, lines)) <= width
    assert " ".join(line.strip() for line in lines) == LINE.strip()
    for whole in WHOLE:
        assert any(whole in line for line in lines), (whole, lines)


def test_further_lines_are_set_in():
    first, *others = wrapped(LINE, 60)
    assert first.startswith("  prompt_bias_score")
    assert others
    assert all(re.match(r" {4}\S", line) for line in others)


@pytest.mark.parametrize("width", [None, 200, 10])
def test_what_fits_stays_whole(width):
    assert wrapped(LINE, width) == [LINE]


def test_a_line_just_as_wide_fits():
    line = "word " * 15 + "words"
    assert wrapped(line, 80) == [line]
    assert len(wrapped(line, 79)) == 2


def test_a_long_word_is_not_cut():
    path = "/a-folder" * 10
    assert wrapped(f"images: in {path} here", 60) == ["images: in", f"  {path}", "  here"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_summary_is_as_wide_as_the_terminal(record, tmp_path, width):
    lines = []

    class Paper:
        def section(self, title, sep="=", **markup):
            lines.append(title)

        def write_line(self, line, **markup):
            lines.append(line)

    settings = Settings(report=tmp_path / "a folder" / ("x" * 80), save_baseline=tmp_path / "b c")
    summarise(record, settings, Paper(), width=width)
    paths = [line for line in lines if line.startswith(("report: ", "baseline: "))]
    assert paths == [f"report: {settings.report / 'index.html'}", f"baseline: {tmp_path / 'b c'}"]
    assert lines[-1].startswith("next: with another version: pytest ")  # a command is not broken
    assert max(len(line) for line in lines[:-1] if line not in paths) <= width


@pytest.mark.parametrize(
    ("outcome", "against", "operator", "estimate", "side"),
    [
        (Outcome.INCONCLUSIVE, "limit", "<=", 0.7, "beyond"),
        (Outcome.INCONCLUSIVE, "limit", "<=", 0.5, "within"),
        (Outcome.INCONCLUSIVE, "limit", ">=", 0.4, "beyond"),
        (Outcome.INCONCLUSIVE, "limit", ">=", 0.6, "within"),
        (Outcome.INCONCLUSIVE, "limit", "<=", None, ""),
        (Outcome.INCONCLUSIVE, "baseline", "<=", 0.7, ""),
        (Outcome.FAIL, "limit", "<=", 0.7, ""),
    ],
)
def test_an_inconclusive_estimate_lies_on_a_side_of_its_limit(
    outcome, against, operator, estimate, side
):
    ends = dict.fromkeys(["low", "high", "level"], None if estimate is None else 0.9)
    check = Check("t", "m", "p", outcome, estimate, **ends, method="", n=9, operator=operator,
                  bound=0.5, against=against)  # fmt: skip
    assert side_of(check) == side
    assert side_counts([check, check]) == (f"2 estimated {side}" if side else "")
