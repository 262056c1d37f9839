"""t2i reproduce: every table and figure of the documents, and those that can be made here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from pytest_t2i.cli import reproduce
from pytest_t2i.cli.main import COMMANDS, main
from pytest_t2i.cli.reproduce import NOTHING_RUN, reproduction

REPOSITORY = Path(__file__).parents[3]
PAPERS = REPOSITORY.parent / "shared" / "papers"
TEXTS = {
    "wu": "000_a190e844cb80fc44.txt",
    "lyu": "001_88060f4ac409a4e7.txt",
    "oasis": "002_f23003dde4e90609.txt",
    "wu-aies": "003_566ff4cb1dde95bc.txt",
    "thesis": "004_77cb67422b05ffcf.txt",
}
NUMBER = r"S?\d+(?:\.\d+)?"
NAMED = re.compile(
    rf"\b(Table|Tab\.|Figure|Fig\.)s?[\s\u00a0]*({NUMBER}(?:(?:\s*,\s*|\s+and\s+){NUMBER})*)"
)
COUNTS = {"lyu": (7, 3), "oasis": (5, 11), "wu": (13, 8), "wu-aies": (14, 12), "thesis": (13, 27)}
"""Document -> its tables and figures, counted by hand."""
ROWS = [(name, row) for name, of in reproduction().document.items() for row in of["rows"]]


def labels(name):
    return [row.label for row in reproduction().document[name]["rows"]]


@pytest.mark.parametrize("name", COUNTS)
def test_none_is_listed_twice_and_all_are_counted(name):
    listed = labels(name)
    assert len(set(listed)) == len(listed)
    tables = sum(label.startswith("Table ") for label in listed)
    assert (tables, len(listed) - tables) == COUNTS[name]


@pytest.mark.parametrize("name", TEXTS)
def test_every_table_and_figure_of_a_document_is_listed(name):
    text = PAPERS / TEXTS[name]
    if not text.is_file():
        pytest.skip(f"{text} is not there")
    named = {
        f"{'Table' if kind.startswith('Tab') else 'Figure'} {number}"
        for kind, numbers in NAMED.findall(text.read_text(encoding="utf-8"))
        for number in re.findall(NUMBER, numbers)
    }
    assert named - set(labels(name)) == set()
    # One figure of an appendix is named by no sentence.
    assert set(labels(name)) - named == ({"Figure S5"} if name == "wu-aies" else set())


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_a_row_has_a_way_and_a_state(name, row):
    way = reproduction().way[row.way]
    assert row.shows
    assert way.here
    if way.is_measured:
        assert shlex.split(way.command)[0] in {"pytest", "t2i"}
        assert bool(way.gb) == bool(way.models or way.hub)


def test_no_way_is_unused():
    assert {row.way for _, row in ROWS} == set(reproduction().way)


@pytest.mark.parametrize("name", [n for n, way in reproduction().way.items() if way.models])
def test_models_are_aliases_of_the_catalogue(name):
    for alias in reproduction().way[name].models:
        assert "/" in reproduce._repository(alias)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, way in reproduction().way.items()
        if way.is_measured and not (way.models or way.hub or way.files)
    ],
)
def test_what_needs_no_weights_runs(name, capsys):
    words = shlex.split(reproduction().way[name].command)
    assert words[0] == "t2i"
    assert main(words[1:]) == 0
    assert capsys.readouterr().out.count("\n") >= 20


def test_commands_of_this_package_exist():
    for way in reproduction().way.values():
        words = shlex.split(way.command)
        if words[:1] == ["t2i"] and words[1] not in {"research", "mitigate", "goya"}:
            assert words[1] in COMMANDS or f"{words[1]}.{words[2]}" in COMMANDS


def test_suites_are_those_of_the_repository():
    for way in reproduction().way.values():
        for file in way.files:
            if file.startswith("suites/"):
                assert (REPOSITORY / file).is_dir()
                assert file in way.command


def test_wu_covers_the_conference_version(capsys):
    assert main(["reproduce", "wu", "--list"]) == 0
    told = capsys.readouterr().out
    assert "### Wu: from prompt to image" in told
    assert "| Table S10 |" in told
    assert "### Lyu" not in told


def test_what_cannot_run_says_what_it_lacks(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "is_in_hub_cache", lambda repository: False)
    assert main(["reproduce", "lyu", "--row", "table 6"]) == NOTHING_RUN
    told = " ".join(capsys.readouterr().out.split())
    lacking, _, command = told.removeprefix("lyu Table 6: not run, for want of ").partition(". ")
    assert "stabilityai/stable-diffusion-xl-base-1.0" in lacking
    assert "suites" not in lacking, "the shipped suite is there"
    # That of the checkout, or the one that comes with an installed package.
    assert "/suites/parity" in command.replace("- ", "-")
    assert "nothing was run" in told


def test_a_row_without_a_command_says_so(capsys):
    """It printed nothing, and ended as if all had been made."""
    assert main(["reproduce", "lyu", "--row", "Figure 1"]) == NOTHING_RUN
    told = " ".join(capsys.readouterr().out.split())
    assert "lyu Figure 1: not run, nothing is measured: a drawing" in told
    assert "nothing was run" in told


def made_of(monkeypatch, **ways):
    """A list with one table for each of these ways."""
    rows = [reproduce.ReproducedTable(f"Table {name}", name, "shows") for name in ways]
    made = reproduce.Reproduction(ways, {"lyu": {"rows": tuple(rows)}})
    monkeypatch.setattr(reproduce, "reproduction", lambda: made)


@pytest.mark.slow
@pytest.mark.parametrize("has_own", [False, True])
def test_a_shipped_suite_runs_where_the_folder_has_none(capfd, monkeypatch, tmp_path, has_own):
    monkeypatch.chdir(tmp_path)
    if has_own:
        (tmp_path / "suites/quick").mkdir(parents=True)
        (tmp_path / "suites/quick/test_mine.py").write_text("def test_mine(): pass")
    command = "pytest --collect-only -q suites/quick"
    made_of(monkeypatch, one=reproduce.Way("here", command, files=("suites/quick",)))
    assert main(["reproduce", "lyu"]) == 0
    told = capfd.readouterr().out
    assert ("test_mine" in told) is has_own
    assert ("test_model_bias_score" in told) is not has_own


def test_what_was_run_sets_the_status_beside_what_lacks_something(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    lacks = reproduce.Way("here", "t2i list axes", files=("absent",))
    made_of(monkeypatch, lacks=lacks, made=reproduce.Way("here", "t2i list prompts"))
    assert main(["reproduce", "lyu"]) == 0


def test_what_is_there_runs_beside_the_published_numbers(capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    made_of(monkeypatch, one=reproduce.Way("here", "t2i list prompts", published="Table 9: .5"))
    assert main(["reproduce", "lyu"]) == 0
    told = capfd.readouterr().out
    assert told.index("lyu Table one: t2i list prompts") < told.index("profession-")
    assert told.rstrip().endswith("published: Table 9: .5")


def test_a_command_that_fails_is_a_failure(capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    made_of(monkeypatch, one=reproduce.Way("here", "t2i report absent.json"))
    assert main(["reproduce", "lyu"]) == 1


@pytest.mark.parametrize("label", ["Table 9", "", "6", "Figure S1"])
def test_an_unknown_row_is_answered_with_the_known(label, capsys):
    assert main(["reproduce", "lyu", "--row", label]) == 2
    assert "expected one of Table 1, Table 2" in " ".join(capsys.readouterr().err.split())
