"""Dependency groups of twenty pictures of ``reference``, against what a look at them says.

The table is hand_checked_groups.csv. Who checked: one language model that reads pictures, no human
being. How: from sheets (tests/benchmarks/dependency_sheets.py: outlines without names, the mask of
each noun) and the definitions of Wu section 6.2 it wrote down what each outline shows and its
group, and of each noun whether the picture shows it; what finder and pipeline said it opened
afterwards. "nothing" stands where an outline surrounds no thing. Things that nothing outlines and
no noun names (trees, windows) are not counted.

A first check found a fault, mended since: where a finder says "person", the *woman* or *man* of the
prompt was held to be hidden, and the person to be implicit (22 of 36 objects were right). The
third was made anew for pictures of weights whose attention was trained to lie on its objects: seeds
give these pictures with the weights sha256:f15af1a3b4f39571 alone (``provenance.model`` of
run.json). Then the finder was trained further and a noun that the tagger had missed was mended, and
all outlines and nouns were judged again by a checker of the same kind, who had seen nothing but the
sheets and a list of what drawings may show.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from pytest_t2i.audits.dependencies.groups import GROUPS

TABLE = Path(__file__).parent / "hand_checked_groups.csv"
PAGE = Path(__file__).parents[2] / "docs" / "objects.md"
NOTHING = "nothing"


@pytest.fixture(scope="module")
def rows():
    with TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def agreement(rows, kind):
    """(right, all)"""
    judged = [row for row in rows if row["kind"] == kind]
    return sum(row["said"] == row["checked"] for row in judged), len(judged)


def test_the_table_is_whole(rows):
    assert len({(row["picture"], row["prompt"], row["seed"]) for row in rows}) == 20
    assert {row["picture"] for row in rows} == {str(number) for number in range(1, 21)}
    assert {row["said"] for row in rows} <= set(GROUPS)
    assert {row["checked"] for row in rows} <= {*GROUPS, NOTHING}
    for row in rows:
        assert (row["kind"] == "noun") == (row["said"] == "hidden"), row
        if row["kind"] == "noun" or row["said"].startswith("explicitly"):
            named = row["object"] in row["prompt"].split()
            assert named or row["object"] == "person", row


def test_the_documented_agreement_is_the_table_s(rows):
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    for kind, told in (("object", "objects are in the right group"), ("noun", "nouns")):
        right, total = agreement(rows, kind)
        assert f"{right} of {total} {told}" in page


def test_what_is_wrong_is_what_the_finder_says(rows):
    """No group is wrong of an object that is there under its name: coverage is as it looks."""
    objects = [row for row in rows if row["kind"] == "object"]
    wrong = [row for row in objects if row["said"] != row["checked"]]
    assert {row["checked"] for row in wrong} == {NOTHING}
    assert Counter(row["object"] for row in wrong) == {"beard": 2, "chef hat": 1, "cigar": 1}
    assert all(row["remark"] for row in rows if row["said"] != row["checked"])
