"""Counterparts of neutral prompts, and prompts that name a gender."""

from __future__ import annotations

import pytest

from pytest_t2i import axes, stereotypes
from pytest_t2i.data import Prompt
from pytest_t2i.prompts.counterparts import counterparts, names_gender


@pytest.mark.parametrize("axis", [*axes, axes.wu.science, axes.wu.sports], ids=lambda a: a.name)
def test_every_prompt_of_a_built_in_axis_has_those_of_its_triplet(axis):
    for three in axis.triplets():
        assert counterparts(three.neutral) == (three.feminine.text, three.masculine.text)


def test_a_prompt_of_an_axis_in_another_sentence_is_read_itself():
    nurse = Prompt("a person who nurses", "profession", "nurse")
    assert counterparts(nurse) == ("a woman who nurses", "a man who nurses")


def test_people_of_stereotypes_have_some():
    for stereotype in stereotypes:
        feminine, masculine = counterparts(stereotype.prompt)
        assert (names_gender(feminine), names_gender(masculine)) == (True, True)


@pytest.mark.parametrize("text", ["a red bus", "a nurse", "personal computers"])
def test_without_a_person_there_are_none(text):
    assert counterparts(Prompt(text, "prompt", text)) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A MAN with a hat", True),
        ("a queen's crown", True),
        ("two waitresses", False),
        ("somebody and her dog", True),
        ("a human shelf", False),
        ("an American author", False),
    ],
)
def test_which_texts_name_a_gender(text, expected):
    assert names_gender(text) is expected
