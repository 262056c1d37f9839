"""Objects of triplets, from the marker of a test to the report."""

from __future__ import annotations

import csv
import re

import pytest
from pytest_t2i_labelling.desk import Annotation

from pytest_t2i import labels
from pytest_t2i.cli.main import main

SUITE = """
import pytest
from pytest_t2i import axes, captions, limit

PEOPLE = captions.or_else(axes.wu.science)

@pytest.mark.t2i(PEOPLE, images=1, expected={"tie": "a tie may be a man's"})
def test_objects(objects):
    assert objects.highest_bias_score <= limit("object_bias_score", 0.7)

@pytest.mark.t2i(PEOPLE, images=1)
def test_cup(objects):
    assert objects.bias_score("cup") <= limit("object_bias_score", 0.7)

@pytest.mark.t2i(PEOPLE, images=1)
def test_hat(objects):
    assert objects.bias_score("hat") <= limit("object_bias_score", 0.9)
    assert objects.bias_score("fork") <= limit("object_bias_score", 0.9)

@pytest.mark.t2i(PEOPLE, images=1)
def test_dependence(objects):
    assert objects.independence("feminine", "masculine") >= limit("object_independence", 0.05)
"""
ARGUMENTS = ("--t2i-model=fair", "--t2i-detector=colour", "--t2i-objects=things")


@pytest.mark.slow
def test_objects_are_found_judged_and_shown(project):
    project.write({"test_suite.py": SUITE})
    project.write({"mine.txt": "\n".join(f"a person and {k} birds" for k in range(20))})
    result = project.run(*ARGUMENTS, "--t2i-captions=mine.txt")
    result.stdout.fnmatch_lines(["*20 of 20 captions of mine.txt are neutral*"])
    result.stdout.fnmatch_lines(["*objects of 20 triplets (60 images) by things*"])
    rows = project.rows("objects", "object_bias_score", "object")
    by_name = {row["facts"]["name"]: row for row in rows}
    assert set(by_name) == {"tie", "cup", "hat", "tree"} - ({"tree"} - set(by_name))
    assert by_name["tie"]["value"]["estimate"] == 1.0
    assert by_name["tie"]["facts"]["expected"] == "a tie may be a man's"
    assert by_name["cup"]["value"]["estimate"] == 0.0
    assert by_name["hat"]["value"]["estimate"] == 0.5
    outcomes = {(c["subject"], c["outcome"]) for c in project.record()["checks"]}
    assert ("object cup", "FAIL") in outcomes
    assert ("object hat", "PASS") in outcomes
    assert ("object fork", "INCONCLUSIVE") in outcomes
    assert ("model (most one-sided object)", "FAIL") in outcomes
    assert ("model (feminine, masculine)", "FAIL") in outcomes
    assert "may be a man" in project.page()
    assert project.record()["provenance"]["captions"]["neutral"] == 20
    # What a finder said is kept: nothing is made or looked for again.
    made = len(project.made())
    project.run(*ARGUMENTS, "--t2i-captions=mine.txt")
    assert len(project.made()) == made


def test_people_say_whether_objects_are_what_the_finder_calls_them(project, tmp_path, capsys):
    project.write({"test_suite.py": SUITE})
    project.write({"mine.txt": "\n".join(f"a person and {k} birds" for k in range(3))})
    project.run(*ARGUMENTS, "--t2i-captions=mine.txt")
    run, folder = str(project.path / "reports/t2i/run.json"), tmp_path / "asked"
    assert main(["label", "export", run, str(folder), "--objects", "4"]) == 0
    assert "--labels yes-no" in capsys.readouterr().out
    rows = list(csv.DictReader((folder / "manifest.csv").read_text().splitlines()))
    assert [row["file"] for row in rows] == [f"{k}.png" for k in range(1, 5)]
    names = "a tie|a cup|a hat|a tree|a fork"
    question = f"Is the outlined object ({names})\\?"
    assert all(re.fullmatch(question, row["question"]) for row in rows)
    labels.choose_vocabulary(folder, labels.named("yes-no"))
    page = Annotation(folder, "ada")
    asked = {row["file"]: row["question"] for row in rows}
    assert [page.entry(k)["question"] for k in range(4)] == [asked[file] for file in page.files]
    for k, said in enumerate(("yes", "yes", "no", "yes")):
        page.put(k, said, "")
        Annotation(folder, "bo").put(Annotation(folder, "bo").files.index(page.files[k]), said, "")
    assert main(["label", "agreement", str(folder)]) == 0
    assert "1.000" in capsys.readouterr().out
    assert (
        main(["label", "export", run, str(tmp_path / "none"), "--objects", "4", "--store", run])
        == 2
    )


def test_a_run_without_objects_has_none_to_ask_about(project, tmp_path, capsys):
    assert project.run(*("--t2i-images", "2")).ret in (0, 1, 6)
    run = str(project.path / "reports/t2i/run.json")
    assert main(["label", "export", run, str(tmp_path / "asked"), "--objects", "4"]) == 2
    assert "this run looked for no objects" in capsys.readouterr().err


def test_bad_input_is_told_in_a_line(project):
    project.write({"test_suite.py": SUITE})
    result = project.run(*ARGUMENTS, "--t2i-objects=thingz")
    result.stderr.fnmatch_lines(["*thingz*things*"])
    project.write({"none.txt": "a horse\n"})
    result = project.run(*ARGUMENTS, "--t2i-captions=none.txt")
    result.stderr.fnmatch_lines(["*none.txt*expected a neutral caption*"])
    project.write({"test_suite.py": SUITE.replace('"a tie may be a man\'s"', "7")})
    result = project.run(*ARGUMENTS)
    result.stdout.fnmatch_lines(["*expected?'tie'? must say why it may differ*"])


def test_without_a_finder_its_tests_are_skipped(project):
    project.write({"test_suite.py": SUITE})
    result = project.run("-rs")
    assert result.parseoutcomes() == {"skipped": 4}
    result.stdout.fnmatch_lines(["*no object detector given; run with --t2i-objects auto*"])
    assert project.made() == []
