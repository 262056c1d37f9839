"""Prompts of one word in two sentences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_t2i import axes
from pytest_t2i.data import Attribute, Prompt, Triplet
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.prompts import Stereotype, references
from pytest_t2i.runs.session.marker_arguments import select
from pytest_t2i.runs.session.prompt_ids import tagged, tags_of
from pytest_t2i.runs.session.selection import SelectedTest, Selection, told_apart

PHOTO = axes.profession.only("nurse", "pilot")
SKETCH = replace(PHOTO, template="a sketch of one real person who is {a word}").only("nurse")


def ids(members):
    return [member.id for member in members]


def test_two_sentences_in_one_marker_are_told_apart_by_the_word_that_differs():
    selection = select([PHOTO, SKETCH], {})
    assert ids(selection.prompts) == [
        "profession-nurse~photo", "profession-pilot", "profession-nurse~sketch",
    ]  # fmt: skip
    assert ids(selection.triplets) == ids(selection.prompts)
    nurse = selection.triplets[0]
    assert nurse.feminine.id == "profession-nurse~photo.feminine"
    assert nurse.neutral == selection.prompts[0]
    assert [prompt.text for prompt in selection.prompts] == [
        prompt.text for axis in (PHOTO, SKETCH) for prompt in axis.prompts()
    ]


def test_the_same_prompt_twice_is_one():
    assert ids(select([PHOTO, PHOTO.only("nurse")], {}).prompts) == [
        "profession-nurse", "profession-pilot",
    ]  # fmt: skip


def test_where_no_single_word_differs_a_digest_does():
    texts = ("a nurse in a park", "in a park a nurse")
    tags = tags_of(Prompt(text, "word", "nurse") for text in texts)
    first, second = tags.values()
    assert first != second
    assert all(len(tag) == 5 and tag[0] == "~" for tag in (first, second))
    assert tags_of(Prompt(text, "word", "nurse") for text in reversed(texts)) == tags


def test_a_sentence_that_is_part_of_another_gets_a_digest_too():
    few = tags_of([Prompt("a nurse", "word", "nurse"), Prompt("a good nurse", "word", "nurse")])
    assert "~good" not in few.values()


def test_members_that_differ_otherwise_are_refused():
    entry = Prompt("a nurse", "word", "nurse")
    with pytest.raises(ConfigurationError, match="two different members have the id 'word-nurse'"):
        select([entry, replace(entry, parts=(("a", "b"),))], {})


def test_a_stereotype_goes_with_its_prompt():
    beard = Attribute("beard", "a beard", "no beard")
    both = [Stereotype(axis.prompts()[0], beard, 0.5) for axis in (PHOTO, SKETCH)]
    assert ids(select(both, {}).stereotypes) == [
        "profession-nurse~photo-beard", "profession-nurse~sketch-beard",
    ]  # fmt: skip


def as_tests(*selections):
    return {
        f"t.py::test_{k}": SelectedTest(f"t.py::test_{k}", Path("t.py"), selection, 4, 4)
        for k, selection in enumerate(selections)
    }


def test_two_sentences_in_two_tests_are_told_apart_in_both():
    first, second = told_apart(
        as_tests(Selection(prompts=PHOTO.prompts()), Selection(triplets=SKETCH.triplets()))
    ).values()
    assert ids(first.selection.prompts) == ["profession-nurse~photo", "profession-pilot"]
    assert ids(second.selection.triplets) == ["profession-nurse~sketch"]
    assert (first.images, first.node_id) == (4, "t.py::test_0")


def test_tags_of_a_marker_are_those_of_the_run():
    portrait = replace(SKETCH, template="a portrait photo of one real person who is {a word}")
    within = select([PHOTO, SKETCH], {})
    first, second = told_apart(as_tests(within, Selection(prompts=portrait.prompts()))).values()
    assert "profession-pilot" in ids(first.selection.prompts)
    nurses = [p for p in (*first.selection.prompts, *second.selection.prompts) if "nurse" in p.id]
    assert len({p.id for p in nurses}) == len({p.text for p in nurses}) == 3


def test_nothing_changes_where_nothing_clashes():
    tests = as_tests(Selection(prompts=PHOTO.prompts()))
    assert told_apart(tests) == tests
    lone = replace(PHOTO.prompts()[0], tag="~photo")
    assert tagged(lone, {}).id == "profession-nurse"


def test_a_tag_changes_neither_picture_nor_reference():
    nurse = select([PHOTO, SKETCH], {}).prompts[0]
    assert nurse.text == PHOTO.prompts()[0].text
    shares = {"profession-nurse": {"male": 0.2, "female": 0.8}}
    reference = references.Reference("mine", "", shares)
    assert reference.of(nurse, ("male", "female"))["male"] == 0.2


def test_triplets_keep_their_order():
    plain = PHOTO.triplets()[0]
    three = tagged(plain, tags_of([*PHOTO.triplets(), *SKETCH.triplets()]))
    assert isinstance(three, Triplet)
    assert [p.text for p in three] == [p.text for p in plain]
