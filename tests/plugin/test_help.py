"""What ``pytest --help`` and ``t2i run --help`` say of the options of a run."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from pytest_t2i.cli.main import main
from pytest_t2i.option_names import EVERYDAY, GROUPS, OPTIONS

MOST_LINES = 40


def test_every_option_is_in_one_group():
    counts = Counter(name for names in GROUPS.values() for name in names)
    assert counts == Counter(option.name for option in OPTIONS)
    assert len(EVERYDAY) == 12


def test_the_help_of_pytest_has_a_short_part_of_ours(pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = pytester.runpytest_subprocess("--help").stdout.lines
    start = next(k for k, line in enumerate(lines) if line.startswith("fairness of text-to-image"))
    own = lines[start : lines.index("", start)]
    keys = [k for k, line in enumerate(lines) if re.match(r"  t2i_(?!ray)", line)]
    assert len(own) + keys[-1] + 1 - keys[0] + 1 <= MOST_LINES
    assert own[0].endswith("options: t2i run --help):")
    assert [re.search(r"--t2i-([a-z-]+)", line).group(1) for line in own if "--t2i-" in line] == [
        option.name for option in OPTIONS if option.name in EVERYDAY
    ]


def test_the_help_of_run_has_every_option_in_groups(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["run", "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    for title, names in GROUPS.items():
        assert f"\n{title}:\n" in shown
        for name in names:
            assert f"  --{name}" in shown


@pytest.mark.slow
def test_options_that_the_help_leaves_out_are_taken_from_line_file_and_override(pytester):
    pytester.makeini("[pytest]\nt2i_confidence = two\n")
    pytester.makepyfile("def test_one(): pass")
    for how in ((), ("-o", "t2i_confidence=3"), ("--t2i-confidence", "4")):
        result = pytester.runpytest_subprocess("--t2i-model", "reference", *how)
        assert result.ret == 4
        assert "confidence: expected a" in result.stderr.str()
