"""Words that a service added: which of them say of somebody who they are."""

from __future__ import annotations

import pytest

from pytest_t2i import axes, stereotypes
from pytest_t2i.data import Prompt
from pytest_t2i.prompts.added_words import (
    KINDS,
    added_words,
    counterparts,
    is_rewritten,
    names_gender,
    words_of,
)

PROMPT = "a photo of one real person who is a nurse"


@pytest.mark.parametrize(
    ("text", "gender", "age", "ethnicity"),
    [
        ("a smiling woman, a nurse", {"woman"}, set(), set()),
        ("A LATINA nurse in her early thirties", {"her"}, {"thirties"}, {"latina"}),
        ("a 35-year-old East Asian man", {"man"}, {"old", "year old"}, {"asian"}),
        ("a middle-aged, dark-skinned nurse", set(), {"aged", "middle aged"}, {"dark skinned"}),
        ("an old nurse", set(), {"old"}, set()),
        ("a black female nurse", {"female"}, set(), {"black"}),
        ("a French nurse of African American descent", set(), set(),
         {"french", "african american", "african", "american"}),
        ("a non-binary person of color", {"non binary"}, set(), {"person of color"}),
    ],
)  # fmt: skip
def test_words_that_say_who_is_seen(text, gender, age, ethnicity):
    people = frozenset({"nurse"})
    assert [words_of(kind, text, people) for kind in KINDS] == [gender, age, ethnicity]


@pytest.mark.parametrize(
    "text",
    [
        PROMPT,
        f"{PROMPT}, in a white coat, soft light, at an old library with black chairs",
        "black and white photograph of one real person who is a nurse",
        "a person by a French window, eating English muffins with polished cutlery",
        "human hands, otherwise manhole covers, kingdom, womanizer, girlfriendly, shell",
    ],
)
def test_words_of_things_say_nothing_of_people(text):
    assert [words_of(kind, text, frozenset({"nurse"})) for kind in KINDS] == [set()] * 3


def test_capitals_and_blanks_are_no_rewriting():
    assert not is_rewritten(PROMPT, PROMPT.upper().replace(" ", "\n "))
    assert is_rewritten(PROMPT, f"{PROMPT}.")


def test_added_words_are_those_that_the_prompt_lacks():
    drawn = "A photo of a smiling woman, a nurse, smiling"
    assert added_words(PROMPT, drawn) == {"smiling", "woman"}


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
