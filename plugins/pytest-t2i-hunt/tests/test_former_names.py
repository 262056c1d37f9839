"""The searches under their new names, and under the former ones for one more release."""

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
def test_a_former_name_runs_and_says_the_new_one(name, monkeypatch, capsys):
    def run(**arguments):
        print(f"ran with {arguments}")
        return 3

    monkeypatch.setattr(command(name), "add_arguments", lambda parser: parser.add_argument("word"))
    monkeypatch.setattr(command(name), "run", run)
    assert main([name, "red"]) == 3
    told = capsys.readouterr()
    assert told.out == "ran with {'word': 'red'}\n"
    assert told.err == f"t2i {name} is now called t2i research {name}\n"
    assert main(["research", name, "red"]) == 3
    assert capsys.readouterr() == ("ran with {'word': 'red'}\n", "")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("words", [("research",), ()], ids=["new", "former"])
def test_ctrl_c_says_what_is_kept(name, words, monkeypatch, capsys):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command(name), "add_arguments", lambda parser: None)
    monkeypatch.setattr(command(name), "run", interrupted)
    assert main([*words, name]) == INTERRUPTED
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("t2i: interrupted. ")
    assert "kept" in last


@pytest.mark.parametrize("name", NAMES)
def test_a_former_name_takes_the_same_options(name, capsys):
    helps = []
    for words in ([name], ["research", name]):
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        helps.append(capsys.readouterr().out.partition("options:")[2])
    assert helps[0] == helps[1]


def test_a_public_name_of_the_prompts_is_forwarded():
    from pytest_t2i import prompts

    with pytest.warns(DeprecationWarning, match=r"pytest_t2i_hunt\.commands\.candidates has it"):
        forwarded = prompts.ask_for_candidates
    assert forwarded is command("candidates").ask_for_candidates


def test_without_the_companion_the_public_name_says_what_to_install(monkeypatch):
    monkeypatch.setattr("pytest_t2i.prompts.entry_points", lambda **_: ())
    with pytest.raises(ImportError, match="Run: pip install pytest-t2i-hunt"):
        from pytest_t2i.prompts import ask_for_candidates  # noqa: F401
